//! `--no-npu` with the stand-in for CANN: each step has a status, failures and time limits are reported, and the file has all results.

use hpmoe_standin::{Fault, Toolkit};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;

/// A run with a toolkit, in a checkout that contains one kernel.
struct Run {
    code: Option<i32>,
    text: String,
    report: Value,
}

/// A file with one small kernel.
const KERNEL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/moe_relay.rs");

fn run(folder: &Path, home: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> Run {
    let checkout = folder.join("checkout");
    fs::create_dir_all(checkout.join("examples")).unwrap();
    fs::copy(KERNEL, checkout.join("examples/moe_relay.rs")).unwrap();
    let report = folder.join("report.json");
    let mut command = Command::new(env!("CARGO_BIN_EXE_hpmoe-doctor"));
    command.args(["--no-npu", "--report"]).arg(&report).args(arguments);
    if !arguments.contains(&"--objects") {
        command.arg("--objects").arg(folder.join("objects"));
    }
    if !arguments.contains(&"--checkout") {
        command.arg("--checkout").arg(&checkout);
    }
    command.env("ASCEND_HOME_PATH", home).env("HPMOE_STANDIN_CORES", "2").env_remove("LD_LIBRARY_PATH");
    // Variables that the simulator would fail with.
    command.env("ASCEND_RT_VISIBLE_DEVICES", "3").envs(variables.iter().copied());
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    let report = fs::read_to_string(&report).unwrap_or_else(|error| panic!("{error}: {text}"));
    Run { code: output.status.code(), text, report: serde_json::from_str(&report).unwrap() }
}

fn with(toolkit: impl FnOnce(Toolkit) -> Toolkit, arguments: &[&str], variables: &[(&str, &str)]) -> Run {
    let folder = tempfile::tempdir().unwrap();
    let toolkit = toolkit(Toolkit::new(folder.path().join("cann")));
    toolkit.install().unwrap();
    run(folder.path(), toolkit.folder(), arguments, variables)
}

impl Run {
    fn step(&self, name: &str) -> &Value {
        let steps = self.report["steps"].as_array().unwrap();
        steps.iter().find(|step| step["name"] == name).unwrap_or_else(|| panic!("{name}: {}", self.text))
    }

    fn expect(&self, name: &str, status: &str, said: &str) {
        let step = self.step(name);
        assert_eq!(step["status"], status, "{name}: {step:#}");
        assert!(step["said"].as_str().unwrap().contains(said), "{name}: {step:#}");
    }
}

#[test]
fn every_step_is_told_in_one_file() {
    let run = with(|toolkit| toolkit, &[], &[]);
    assert_eq!(run.code, Some(0), "{}", run.text);
    let report = &run.report;
    assert_eq!((&report["version"], &report["stand_in"]), (&1.into(), &true.into()));
    assert_eq!(report["cann"]["version"], "9.1.0");
    assert!(report["cann"]["compiler"].as_str().unwrap().starts_with("stand-in bisheng of CANN 9.1.0"));
    run.expect("toolkit", "ok", "CANN 9.1.0");
    run.expect("compile probes", "ok", "hpmoe_doctor: ");
    run.expect("compile moe_relay", "ok", "B of code, functions of ");
    let kernel = &run.step("compile moe_relay")["detail"]["kernels"][0];
    assert_eq!(kernel["kernel"], "moe_relay::forward");
    for (of, what) in [("estimated", "matrix"), ("estimated", "vector"), ("object", "code"), ("object", "vector_entry")]
    {
        assert!(kernel[of][what].as_u64().unwrap() > 0, "{kernel:#}");
    }
    run.expect("simulate probes", "ok", "Ascend910B1: 11 hold");
    let libraries = serde_json::json!({ "runtime_of_simulator": true, "preloaded_by_doctor": false });
    assert_eq!(run.step("simulate probes")["detail"]["libraries"], libraries);
    let probes = run.step("simulate probes")["detail"]["probes"].as_array().unwrap();
    assert!(probes.iter().any(|probe| probe["probe"] == "stuck" && probe["answer"] == "not run"));
    // This is not a checkout that the layer can be built in.
    run.expect("build moe_ffn", "skipped", "is not a checkout of hpmoe");
    run.expect("tiles of moe_ffn", "skipped", "it needs `build moe_ffn`");
    let ended = ["4 ok, 0 failed, 0 timed out, 3 skipped; logs of the steps are in `", "please send it"];
    assert!(ended.iter().all(|text| run.text.contains(text)), "{}", run.text);
}

#[test]
fn failures_do_not_keep_other_steps_from_being_run() {
    // The compiler accepts the probes, but not the kernel.
    let run = with(|toolkit| toolkit.fault(Fault::Refuses("namespace task")), &[], &[("HPMOE_STANDIN_BREAK", "sums")]);
    assert_eq!(run.code, Some(1), "{}", run.text);
    run.expect("compile probes", "failed", "has `namespace task`");
    run.expect("compile moe_relay", "failed", "CANN refused 1 of 1 kernels: ");
    assert!(
        run.step("compile moe_relay")["detail"]["kernels"][0]["refused"].as_str().unwrap().contains("told to refuse")
    );
    run.expect("simulate probes", "failed", "1 fail: toolkit");

    let run = with(|toolkit| toolkit, &["--chip", "Ascend910B1"], &[("HPMOE_STANDIN_BREAK", "sums")]);
    run.expect("compile moe_relay", "ok", "B of code");
    run.expect("simulate probes", "failed", "1 fail: sums");
}

#[test]
fn what_is_lacking_is_told_with_a_way_out() {
    let folder = tempfile::tempdir().unwrap();
    let none = run(folder.path(), &folder.path().join("nowhere"), &[], &[]);
    assert_eq!(none.code, Some(1), "{}", none.text);
    none.expect("toolkit", "failed", "quay.io/ascend/cann:");
    none.expect("toolkit", "failed", "which is not a folder: run set_env.sh");
    assert_eq!(none.report["cann"], Value::Null);

    let run = with(|toolkit| toolkit.fault(Fault::NoSimulator), &[], &[("PATH", "/usr/bin:/bin")]);
    run.expect("build moe_ffn", "skipped", "is not a checkout of hpmoe");
    run.expect("tiles of moe_ffn", "skipped", "it needs `build moe_ffn`");
    run.expect("simulate probes", "skipped", "has no msprof in bin and tools/profiler/bin: install the whole toolkit");
    assert_eq!(run.code, Some(0), "{}", run.text);

    let spaced = folder.path().join("some objects");
    let run = with(|toolkit| toolkit, &["--objects", spaced.to_str().unwrap()], &[]);
    run.expect("simulate probes", "skipped", "takes no path with spaces, such as `");
    run.expect("compile probes", "ok", "B of code");
    let long = folder.path().join("o".repeat(190));
    let run = with(|toolkit| toolkit, &["--objects", long.to_str().unwrap()], &[]);
    run.expect(
        "simulate probes",
        "skipped",
        "but CANN's simulator takes at most 200: name a shorter folder by --objects",
    );

    let run = with(|toolkit| toolkit, &["--chip", "Ascend910_9999"], &[]);
    run.expect("simulate probes", "skipped", "has no simulator of Ascend910_9999, but Ascend310P3, Ascend910B1");
}

#[test]
fn simulators_that_are_named_by_architecture_are_used() {
    let folder = tempfile::tempdir().unwrap();
    let toolkit = Toolkit::new(folder.path().join("cann"));
    toolkit.install().unwrap();
    let simulators = toolkit.folder().join("tools/simulator");
    fs::rename(simulators.join("Ascend910B1"), simulators.join("dav_2201")).unwrap();
    fs::create_dir_all(toolkit.folder().join("tools/profiler/bin")).unwrap();
    let moved = toolkit.folder().join("tools/profiler/bin/msprof");
    fs::rename(toolkit.folder().join("bin/msprof"), &moved).unwrap();
    let text = fs::read_to_string(&moved).unwrap().replace("/..\" && pwd", "/../../..\" && pwd");
    fs::write(&moved, text).unwrap();
    let run = run(folder.path(), toolkit.folder(), &["--layer", "/bin/true"], &[("PATH", "/usr/bin:/bin")]);
    run.expect("simulate probes", "ok", "dav_2201: 11 hold");
}

#[test]
fn the_simulators_libraries_are_preloaded_if_the_program_ran_without_them() {
    let unloaded = ("HPMOE_STANDIN_SIMULATOR", "unloaded");
    let run = with(|toolkit| toolkit, &["--layer", "/bin/true"], &[unloaded]);
    run.expect("simulate probes", "ok", "Ascend910B1: 11 hold");
    let libraries = serde_json::json!({ "runtime_of_simulator": true, "preloaded_by_doctor": true });
    assert_eq!(run.step("simulate probes")["detail"]["libraries"], libraries);

    let folder = tempfile::tempdir().unwrap();
    let toolkit = Toolkit::new(folder.path().join("cann"));
    toolkit.install().unwrap();
    fs::remove_file(toolkit.folder().join("tools/simulator/Ascend910B1/lib/libnpu_drv_camodel.so")).unwrap();
    let run = self::run(folder.path(), toolkit.folder(), &["--layer", "/bin/true"], &[unloaded]);
    run.expect("simulate probes", "failed", "the program ran without the simulator's libruntime_camodel.so");
    let probes = run.step("simulate probes")["detail"]["probes"].to_string();
    assert!(probes.contains("aclInit failed with error 500000"), "{probes}");
}

/// CANN's simulator crashes if a process ends without resetting its device, and so does the stand-in.
#[test]
fn the_doctor_resets_the_device_before_it_ends() {
    let folder = tempfile::tempdir().unwrap();
    let toolkit = Toolkit::new(folder.path().join("cann"));
    toolkit.install().unwrap();
    let calls = folder.path().join("calls.txt");
    let log = ("HPMOE_STANDIN_LOG", calls.to_str().unwrap());
    let run = run(folder.path(), toolkit.folder(), &["--layer", "/bin/true"], &[log]);
    run.expect("simulate probes", "ok", "11 hold");
    let said = fs::read_to_string(folder.path().join("objects/no-npu/probes/log")).unwrap();
    assert!(!said.contains("Running task failed"), "{said}");
    let calls = fs::read_to_string(&calls).unwrap();
    let count = |call: &str| calls.lines().filter(|line| line.starts_with(call)).count();
    assert!(count("aclrtSetDevice ") > 0 && count("aclrtSetDevice ") == count("aclrtResetDevice "), "{calls}");
    assert_eq!((count("aclFinalizeReference "), count("exit ")), (1, 0), "{calls}");
    // Events and streams are destroyed before the first reset.
    let reset = calls.find("aclrtResetDevice ").unwrap();
    assert!(calls[..reset].contains("aclrtDestroyStream ") && !calls[reset..].contains("aclrtDestroy"), "{calls}");
    assert!(!calls.contains("still has streams"), "{calls}");
}

#[test]
fn a_simulation_without_a_result_has_failed() {
    let program = Path::new("/bin/true").to_str().unwrap();
    let run = with(|toolkit| toolkit, &["--layer", program], &[]);
    run.expect("build moe_ffn", "skipped", "was given");
    run.expect("simulate moe_ffn", "failed", "no result: ");
    run.expect("tiles of moe_ffn", "skipped", "wrote no trace");
    let cores = &run.step("simulate moe_ffn")["detail"]["cores"];
    assert_eq!(cores["core0.veccore0"]["SCALAR"]["cycles"], 4.0, "{cores:#}");

    let run = with(|toolkit| toolkit, &["--layer", program], &[("HPMOE_STANDIN_SIMULATOR", "empty")]);
    run.expect("simulate moe_ffn", "failed", "no OPPROF_*/simulator/core*/core*_instr_exe*.csv");
}

/// Runs a step that simulates a program that only prints one line.
fn printing(line: &str) -> Run {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("layer");
    fs::write(&program, format!("#!/bin/sh\necho '{line}'\n")).unwrap();
    fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    with(|toolkit| toolkit, &["--layer", program.to_str().unwrap()], &[])
}

#[test]
fn other_bits_are_told_and_a_large_error_has_failed() {
    let run = printing(r#"{"bitwise_equal":false,"relative_l2":0.004}"#);
    run.expect("simulate moe_ffn", "ok", "different bits than the reference's, with a relative L2 error of 4.00e-3");
    let run = printing(r#"{"bitwise_equal":false,"relative_l2":0.5}"#);
    run.expect("simulate moe_ffn", "failed", "a relative L2 error of 5.00e-1");
}

#[test]
#[ignore = "builds moe_ffn in a folder of its own: .ci/sweep npus"]
fn a_small_layer_is_built_simulated_and_compared() {
    let folder = tempfile::tempdir().unwrap();
    let toolkit = Toolkit::new(folder.path().join("cann"));
    toolkit.install().unwrap();
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let run = run(folder.path(), toolkit.folder(), &["--checkout", root], &[]);
    run.expect("simulate moe_ffn", "ok", "equal bit for bit with the reference");
    run.expect("tiles of moe_ffn", "ok", "times of tiles");
    let lines = run.step("tiles of moe_ffn")["detail"]["diff"].as_array().unwrap();
    assert!(lines.iter().any(|line| line.as_str().unwrap().contains("swiglu")), "{lines:#?}");
}
