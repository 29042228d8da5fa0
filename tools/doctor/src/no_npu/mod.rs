//! Checks on a machine with CANN but without an NPU: CANN's compiler compiles all kernels, and its operator simulator runs some.
//!
//! Each step is a program with a time limit, and has its own status. All results are written to one file.

mod kernels;
mod layer;
mod machine;
mod simulator;
mod step;

pub(crate) use kernels::compile;

use crate::options::Options;
use crate::words::print;
use hpmoe_build::InstalledToolkit;
use hpmoe_runtime::printable::{printable_lines, printable_path};
use machine::{Machine, absolute, folder, objects};
use serde_json::{Value, json};
use simulator::{LONGEST_WAIT, Simulated, Simulator};
use std::ffi::OsString;
use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::available_parallelism;
use std::time::Duration;
use step::{Status, Step, run};

/// Version of the file format; it changes if the meaning of a field changes.
const VERSION: u32 = 1;

/// Cores of the simulated launches: only a few, because each one is simulated instruction by instruction.
const CORES: u32 = 2;

/// Probes that are not simulated, because a core waits for seconds in them, which are billions of cycles.
const TOO_LONG: &str = "stuck";

const TOOLKIT: &str = "toolkit";
const PROBES: &str = "simulate probes";

/// Instructions for getting CANN without an NPU.
const WAY_OUT: &str = "install Ascend-cann-toolkit and run its set_env.sh, or run this in one of CANN's public containers, such as \
                       quay.io/ascend/cann:9.0.1-910b-ubuntu22.04-py3.11: neither needs an NPU or a driver (docs/npu.md)";

/// Runs all steps and writes the file. Returns true if no step failed.
pub(crate) fn examine(options: &Options) -> Result<bool, String> {
    let folder = folder(options);
    let cannot = |error: std::io::Error| format!("can't write to `{}`: {error}", printable_path(&folder));
    DirBuilder::new().recursive(true).mode(0o700).create(&folder).map_err(cannot)?;
    let program = std::env::current_exe().map_err(|error| format!("can't find this program: {error}"))?;
    let toolkit = hpmoe_build::installed_toolkit();
    let (step, compiler) = toolkit_step(&folder, &toolkit);
    let mut taken =
        Taken { options, folder: folder.clone(), toolkit: toolkit.clone().ok(), compiler, steps: Vec::new() };
    taken.add(step)?;
    let Ok(toolkit) = toolkit else { return taken.end() };
    let cores = options.matrix_cores.unwrap_or(CORES);
    let machine =
        Machine { options, program, objects: objects(options), folder, toolkit: absolute(toolkit.folder), cores };
    kernels::steps(&machine, &mut |step| taken.add(step))?;
    let simulator = Simulator::find(&machine.toolkit, options.chip.as_deref());
    taken.add(match &simulator {
        Err(why) => Step::skipped(PROBES, why.as_str()),
        Ok(simulator) => probes(&machine, simulator),
    })?;
    layer::steps(&machine, simulator.as_ref(), &mut |step| taken.add(step))?;
    taken.end()
}

/// The completed steps, and the contents of the file header.
struct Taken<'a> {
    options: &'a Options,
    /// The folder of logs.
    folder: PathBuf,
    toolkit: Option<InstalledToolkit>,
    compiler: String,
    steps: Vec<Step>,
}

impl Taken<'_> {
    /// Prints a step, and writes the file again, so that all completed steps are kept if the program is ended.
    fn add(&mut self, step: Step) -> Result<(), String> {
        print(format!(
            "{:<28} {:<9} {:>7.1} s  {}",
            step.name,
            step.status.name(),
            step.seconds,
            first_line(&step.said)
        ));
        self.steps.push(step);
        let file = &self.options.report;
        let text = serde_json::to_string_pretty(&self.json()).unwrap_or_default() + "\n";
        fs::write(file, text).map_err(|error| format!("can't write `{}`: {error}", printable_path(file)))
    }

    fn json(&self) -> Value {
        let toolkit = self.toolkit.as_ref().map(|toolkit| {
            json!({ "version": toolkit.version, "folder": printable_path(&toolkit.folder), "compiler": self.compiler })
        });
        let stand_in = self.toolkit.as_ref().is_some_and(|toolkit| toolkit.folder.join("standin.conf").is_file());
        json!({
            "version": VERSION,
            "hpmoe": env!("CARGO_PKG_VERSION"),
            "stand_in": stand_in,
            "cann": toolkit,
            "machine": {
                "architecture": std::env::consts::ARCH,
                "processors": available_parallelism().map_or(0, |count| count.get()),
            },
            "steps": self.steps.iter().map(Step::json).collect::<Vec<_>>(),
        })
    }

    fn end(&self) -> Result<bool, String> {
        let count = |status| self.steps.iter().filter(|step| step.status == status).count();
        print(format!(
            "\n{} ok, {} failed, {} timed out, {} skipped; logs of the steps are in `{}`\n\
             `{}` has all results: please send it, even if steps failed (docs/npu.md says where)",
            count(Status::Ok),
            count(Status::Failed),
            count(Status::TimedOut),
            count(Status::Skipped),
            printable_path(&self.folder),
            printable_path(&self.options.report)
        ));
        Ok(count(Status::Failed) + count(Status::TimedOut) == 0)
    }
}

fn first_line(text: &str) -> String {
    printable_lines(text.lines().next().unwrap_or_default()).into_owned()
}

/// The installed toolkit, and the version that its compiler reports.
fn toolkit_step(logs: &Path, toolkit: &Result<InstalledToolkit, String>) -> (Step, String) {
    let step = |status, seconds, said, detail| Step { name: TOOLKIT.to_owned(), status, seconds, said, detail };
    match toolkit {
        Err(why) => {
            let said = format!("{}; {WAY_OUT}", first_line(why));
            (step(Status::Failed, 0.0, said, json!({ "why": why })), String::new())
        }
        Ok(InstalledToolkit { folder, version, compiler }) => {
            let mut command = Command::new(compiler);
            command.arg("--version");
            let ran = run(command, Duration::from_secs(60), &logs.join("compiler.log"));
            let said = match ran.status {
                Status::Ok => format!("CANN {version}, `{}`", printable_path(folder)),
                _ => format!("{}: {}", ran.end, ran.last().trim()),
            };
            (step(ran.status, ran.seconds, said, Value::Null), ran.text.trim().to_owned())
        }
    }
}

/// Runs the probes that need only one NPU on the simulator.
fn probes(machine: &Machine<'_>, simulator: &Simulator) -> Step {
    let answers = machine.folder.join("answers.jsonl");
    let mut arguments: Vec<OsString> =
        ["--skip", TOO_LONG, "--tries", "2", "--limit", LONGEST_WAIT, "--matrix-cores"].map(OsString::from).into();
    arguments.extend([machine.cores.to_string().into(), "--objects".into(), machine.objects.clone().into()]);
    arguments.extend(["--answers".into(), answers.clone().into()]);
    let (program, folder) = (machine.program.as_path(), machine.folder.join("probes"));
    let simulated = Simulated { program, arguments, folder, result: answers.clone(), minutes: machine.options.minutes };
    let (ran, libraries) = match simulator.run(&simulated) {
        Ok(ran) => ran,
        Err(problem) => return Step::skipped(PROBES, problem),
    };
    let found = answers_of(&answers);
    let with = |word: &str| -> Vec<&str> {
        found.iter().filter(|answer| answer["answer"] == word).filter_map(|answer| answer["probe"].as_str()).collect()
    };
    let (holds, fails) = (with("holds"), with("fails"));
    // The last two probes of a single NPU come after those that need a peer.
    let complete = found.iter().any(|answer| answer["probe"] == TOO_LONG);
    let status = match (ran.status, complete) {
        (Status::TimedOut, _) => Status::TimedOut,
        (_, true) if fails.is_empty() && !holds.is_empty() => Status::Ok,
        _ => Status::Failed,
    };
    let end =
        if complete { String::new() } else { format!("; not all have an answer: {}: {}", ran.end, ran.last().trim()) };
    let failing =
        if fails.is_empty() { String::new() } else { format!(", {} fail: {}", fails.len(), fails.join(", ")) };
    let said = format!("{}: {} hold{failing}{end}{}", simulator.chip, holds.len(), libraries.said());
    let detail = json!({ "chip": simulator.chip, "matrix_cores": machine.cores, "libraries": libraries.json(), "probes": found });
    Step { name: PROBES.to_owned(), status, seconds: ran.seconds, said, detail }
}

fn answers_of(file: &Path) -> Vec<Value> {
    let text = fs::read_to_string(file).unwrap_or_default();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}
