//! Compiles kernels, each file in a separate process, which is ended at the time limit of the step.

use super::machine::{Machine, folder, for_toolkit, objects};
use super::step::{Add, Status, Step, run};
use crate::kernel::{SYMBOL, compiled};
use crate::options::Options;
use crate::words::print;
use hpmoe_build::DeviceObject;
use hpmoe_runtime::printable::printable_path;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The name that selects the doctor's own kernel instead of a file.
const PROBES: &str = "probes";

/// Compiles a file of kernels, or the probes, and prints the result of each kernel as a line of JSON. Returns whether CANN accepted all of
/// them.
pub(crate) fn compile(file: &Path, options: &Options) -> Result<bool, String> {
    let kept = folder(options).join("kernels");
    let kernels = match file.to_str() {
        // The step that runs the probes on the simulator looks for the object in this folder.
        Some(PROBES) => vec![(SYMBOL.to_owned(), None, compiled(&objects(options)))],
        _ => hpmoe_build::device_kernels(file, &BTreeMap::new().into_iter().collect(), options.matrix_cores, &kept)?
            .into_iter()
            .map(|kernel| (format!("{}::{}", kernel.kernel, kernel.taskflow), Some(kernel.estimated), kernel.object))
            .collect(),
    };
    let all = kernels.iter().all(|(_, _, object)| object.is_ok());
    for (name, estimated, object) in &kernels {
        print(told(name, *estimated, object).to_string());
    }
    Ok(all)
}

/// The reported facts about a kernel: size of its object, and estimated size of its code, in bytes.
fn told(name: &str, estimated: Option<[u64; 2]>, object: &Result<DeviceObject, String>) -> Value {
    let estimated = estimated.map(|[matrix, vector]| json!({ "matrix": matrix, "vector": vector }));
    match object {
        Err(why) => json!({ "kernel": name, "estimated": estimated, "refused": why }),
        Ok(DeviceObject { entries: [matrix, vector], code, object, .. }) => json!({
            "kernel": name,
            "estimated": estimated,
            "object": { "bytes": object.len(), "code": code, "matrix_entry": matrix, "vector_entry": vector },
        }),
    }
}

/// Runs a step for the probes and one for each file of kernels in a checkout.
pub(super) fn steps(machine: &Machine<'_>, add: &mut Add<'_>) -> Result<(), String> {
    let examples = machine.options.checkout.join("examples");
    let entries = fs::read_dir(&examples).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "rs"));
    files.sort();
    add(step(machine, Path::new(PROBES)))?;
    if files.is_empty() {
        let why = format!(
            "no kernels in `{}`: run this in a checkout of hpmoe, or name one (--checkout)",
            printable_path(&examples)
        );
        add(Step::skipped("compile examples", why))?;
    }
    files.iter().try_for_each(|file| add(step(machine, file)))
}

fn step(machine: &Machine<'_>, file: &Path) -> Step {
    let name = format!("compile {}", file.file_stem().unwrap_or_default().to_string_lossy());
    let mut command = Command::new(&machine.program);
    for_toolkit(&mut command, &machine.toolkit);
    command.arg("--compile").arg(file).arg("--objects").arg(&machine.objects);
    let log = machine.folder.join(format!("{}.log", name.replace(' ', "-")));
    let ran = run(command, machine.limit(), &log);
    let kernels: Vec<Value> = ran.text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let refused = kernels.iter().filter(|kernel| kernel.get("refused").is_some()).count();
    let said = match ran.status {
        Status::Ok => kernels.iter().map(sizes).collect::<Vec<_>>().join("; "),
        _ if refused > 0 => format!("CANN refused {refused} of {} kernels: {}", kernels.len(), first_line(&kernels)),
        _ => format!("{}: {}", ran.end, ran.last().trim()),
    };
    Step { name, status: ran.status, seconds: ran.seconds, said, detail: json!({ "kernels": kernels }) }
}

/// The size of the code in bytes, next to the estimate.
fn sizes(kernel: &Value) -> String {
    let (name, object) = (kernel["kernel"].as_str().unwrap_or_default(), &kernel["object"]);
    let code = &object["code"];
    match kernel["estimated"].is_object() {
        false => format!("{name}: {code} B of code"),
        true => format!(
            "{name}: {code} B of code, functions of {} (matrix) and {} B (vector), estimated at {} and {}",
            object["matrix_entry"],
            object["vector_entry"],
            kernel["estimated"]["matrix"],
            kernel["estimated"]["vector"]
        ),
    }
}

fn first_line(kernels: &[Value]) -> String {
    let refused = kernels.iter().find_map(|kernel| kernel.get("refused")?.as_str());
    refused.unwrap_or_default().lines().next().unwrap_or_default().to_owned()
}
