//! All probes, with the stand-in for CANN. All assumptions hold, and each probe fails if its assumption is broken.

use hpmoe_standin::{Fault, Toolkit};
use serde_json::Value;
use std::collections::BTreeMap;
use std::process::Command;

/// The probes that need no peer, and those that do.
const OWN: [&str; 10] = ["toolkit", "npu", "argument", "cores", "poll", "adds", "order", "flags", "sums", "relu"];
const PEERS: [&str; 4] = ["reach", "peer-adds", "landed", "ready"];
/// The probes that may leave a core in an endless wait, and thus run last.
const LAST: [&str; 2] = ["rows", "stuck"];

/// The outcome of a run of the doctor.
struct Run {
    code: Option<i32>,
    text: String,
    /// The answer and the observation of each probe, by its name.
    answers: BTreeMap<String, (String, String)>,
}

/// Runs the doctor with a toolkit, on NPUs of two matrix cores each.
fn run(toolkit: Toolkit, arguments: &[&str], variables: &[(&str, &str)]) -> Run {
    toolkit.install().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_hpmoe-doctor"));
    command.args(["--json", "--tries", "24", "--objects"]).arg(toolkit.folder().join("objects")).args(arguments);
    command.env("ASCEND_HOME_PATH", toolkit.folder()).env("HPMOE_STANDIN_CORES", "2");
    let output = command.envs(variables.iter().copied()).output().unwrap();
    let (text, said) = (String::from_utf8_lossy(&output.stdout).into_owned(), String::from_utf8_lossy(&output.stderr));
    let json: Value = serde_json::from_str(text.lines().last().unwrap_or_default())
        .unwrap_or_else(|error| panic!("{error}: {text}\n{said}"));
    let field = |probe: &Value, name: &str| probe[name].as_str().unwrap().to_owned();
    let probes = json["probes"].as_array().unwrap().iter();
    let answers = probes.map(|probe| (field(probe, "probe"), (field(probe, "answer"), field(probe, "seen")))).collect();
    Run { code: output.status.code(), text, answers }
}

/// Like `run`, with a toolkit that has no faults.
fn run_sound(arguments: &[&str], variables: &[(&str, &str)]) -> Run {
    let folder = tempfile::tempdir().unwrap();
    run(Toolkit::new(folder.path()), arguments, variables)
}

impl Run {
    /// The answer of a probe.
    fn of(&self, probe: &str) -> &str {
        &self.answers[probe].0
    }

    fn failing(&self) -> Vec<&str> {
        self.answers.iter().filter(|(_, (answer, _))| answer == "fails").map(|(name, _)| name.as_str()).collect()
    }

    fn expect(&self, probes: &[&str], answer: &str) {
        probes.iter().for_each(|probe| assert_eq!(self.of(probe), answer, "{probe}:\n{}", self.text));
    }
}

#[test]
fn all_that_one_npu_can_show_holds() {
    let run = run_sound(&[], &[]);
    run.expect(&OWN, "holds");
    run.expect(&LAST, "holds");
    run.expect(&PEERS, "not run");
    assert_eq!((run.code, run.answers.len()), (Some(0), 16));
    assert!(run.answers["reach"].1.contains("--processes 2"), "{}", run.text);
    assert!(run.text.contains("nothing here says anything about an NPU, and times mean nothing"), "{}", run.text);
}

#[test]
fn all_holds_between_processes() {
    let run = run_sound(&["--processes", "2"], &[]);
    run.expect(&[&OWN[..], &PEERS, &LAST].concat(), "holds");
    assert_eq!(run.code, Some(0));
    assert!(run.answers["landed"].1.starts_with("in a package: 192 blocks of 64 KiB"), "{}", run.text);
}

#[test]
fn all_holds_between_processes_that_share_memory_by_shmem() {
    // A2s have no fabric handles.
    let run = run_sound(
        &["--processes", "2"],
        &[("HPMOE_SYMMETRIC_MEMORY", "shmem"), ("HPMOE_SHMEM_HEAP_MIB", "64"), ("HPMOE_STANDIN_SOC", "Ascend910B2")],
    );
    run.expect(&[&OWN[..], &PEERS, &LAST].concat(), "holds");
    assert_eq!(run.code, Some(0));
}

#[test]
fn all_holds_between_npus_of_one_process() {
    let run = run_sound(&["--ranks", "3"], &[]);
    run.expect(&[&OWN[..], &PEERS, &LAST].concat(), "holds");
    let landed = &run.answers["landed"].1;
    assert!(landed.contains("in a package: 96 blocks") && landed.contains("beyond: 192 blocks"), "{landed}");
}

/// Checks that only the probe of the broken assumption fails, that probes that need the assumption are not run, and that all others hold.
fn expect_failure(run: &Run, broken: &str, seen: &str) {
    assert_eq!((run.failing(), run.code), (vec![broken], Some(1)), "{broken}:\n{}", run.text);
    assert!(run.answers[broken].1.contains(seen), "{broken}:\n{}", run.text);
    for word in ["means: ", "breaks: ", "change: "] {
        assert!(run.text.contains(word), "{broken}:\n{}", run.text);
    }
}

#[test]
fn every_probe_of_one_npu_can_fail() {
    let cases = [
        ("argument", "passed second", &["cores", "poll", "adds", "order", "sums", "stuck"][..]),
        ("cores", "vector core 0 found that it is number 0 of 2 blocks, with a ratio of 1:1", &[]),
        ("poll", "gave up: it waited for word", &["adds", "sums"]),
        ("adds", "a word is ", &["poll", "sums", "stuck"]),
        ("order", "words were wrong", &["poll", "adds", "sums", "stuck"]),
        ("sums", "at depth 16, more than 64", &["poll", "adds", "order", "stuck"]),
        (
            "relu",
            "a sum of -3.0 (bits 0xc0400000) became -0.0 (bits 0x80000000)",
            &["poll", "adds", "order", "sums", "stuck"],
        ),
        ("flags", "words were wrong", &["poll", "adds", "order", "sums", "relu", "rows", "stuck"]),
        ("rows", "the scalar unit waits", &["poll", "adds", "order", "flags", "sums", "relu"]),
        ("stuck", "had not left by themselves", &["poll", "adds", "order", "sums"]),
    ];
    for (broken, seen, others) in cases {
        let run = run_sound(&["--limit", "2"], &[("HPMOE_STANDIN_BREAK", broken)]);
        expect_failure(&run, broken, seen);
        run.expect(others, "holds");
    }
}

#[test]
fn every_probe_of_peers_can_fail() {
    let cases = [
        // One rank accesses memory that is not its own, which stops the other one: either error may be reported first.
        ("reach", "a core of the NPU ended with an exception", &OWN[2..]),
        ("peer-adds", "a word is ", &["reach", "stuck"]),
        ("landed", "read what had not landed", &["reach", "peer-adds", "stuck"]),
        ("ready", "gave up: it waited for word", &["reach", "peer-adds", "landed", "stuck"]),
    ];
    for (broken, seen, others) in cases {
        let run = run_sound(&["--limit", "2", "--ranks", "2"], &[("HPMOE_STANDIN_BREAK", broken)]);
        expect_failure(&run, broken, seen);
        run.expect(others, "holds");
    }
    // All processes report what one of them finds.
    let run = run_sound(&["--limit", "2", "--processes", "2"], &[("HPMOE_STANDIN_BREAK", "landed")]);
    expect_failure(&run, "landed", "read what had not landed");
}

#[test]
fn the_compiler_and_the_npus_can_be_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let faulty = |fault| Toolkit::new(folder.path()).fault(fault);
    let run_faulty = run(faulty(Fault::Refuses("core.Start(argument)")), &[], &[]);
    expect_failure(&run_faulty, "toolkit", "told to refuse this line");
    run_faulty.expect(&["npu"], "holds");
    run_faulty.expect(&OWN[2..], "not run");
    // The reason names a probe that is needed but was not run or failed, down to the one that failed.
    let needs = ["argument", "cores", "poll", "order", "stuck"].map(|probe| run_faulty.answers[probe].1.as_str());
    let lacks = |probe| format!("it needs `{probe}`, which does not hold or was not run");
    assert_eq!(needs, ["toolkit", "argument", "cores", "poll", "poll"].map(lacks));

    let run_half = run(faulty(Fault::Lacks("aiv")), &[], &[]);
    expect_failure(&run_half, "toolkit", "it has no code for vector cores");
    run_half.expect(&["npu"], "holds");

    let run_faulty = run(Toolkit::new(folder.path()).version("8.3.RC2"), &[], &[]);
    expect_failure(&run_faulty, "toolkit", "kernels need 8.5 or later");

    let run_other = run_sound(&[], &[("HPMOE_STANDIN_SOC", "Ascend310P3")]);
    expect_failure(&run_other, "npu", "Ascend310P3");
    run_other.expect(&["toolkit"], "holds");

    let run_failed = run_sound(&[], &[("HPMOE_STANDIN_FAULT", "0:507015")]);
    expect_failure(&run_failed, "argument", "failed with error 507015");
    run_failed.expect(&OWN[3..], "not run");

    let run_unknown = run_sound(&[], &[("HPMOE_STANDIN_BREAK", "nothing of the kind")]);
    expect_failure(&run_unknown, "npu", "HPMOE_STANDIN_BREAK names nothing that can be broken");
}

#[test]
fn questions_that_make_no_sense_are_refused() {
    let ask = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hpmoe-doctor"));
        let output = command.args(arguments).env("HPMOE_RANK", "0").env("HPMOE_RANKS", "2").output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (code, said) = ask(&["--processes", "3"]);
    assert!(code == Some(2) && said.contains("one of 2 that a launcher started, but 3 ranks"), "{said}");
    let (code, said) = ask(&["--limit", "0"]);
    assert!(code == Some(2) && said.contains("from 0.1 to 600"), "{said}");
}
