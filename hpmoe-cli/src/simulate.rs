//! `hpmoe simulate`: the kernel, the original and the serial execution on a described target.

mod json;
mod runs;
mod scenario;
mod text;
mod trace;

use crate::options::{Policy, Simulate};
use crate::output::{say, say_line};
use crate::progress::{Progress, Reader};
use hpmoe_codegen::target::Constant;
use hpmoe_simulator::gantt;
use hpmoe_simulator::simulate::depends;
use runs::Extras;
use scenario::Scenario;
use std::path::Path;
use std::process::ExitCode;

const ALL: [Policy; 3] = [Policy::Ours, Policy::Hyperparallel, Policy::Serial];

pub(crate) fn simulate(options: &Simulate) -> Result<ExitCode, String> {
    let policies = options.policy.map_or_else(|| ALL.to_vec(), |policy| vec![policy]);
    let scenario = Scenario::read(options, &policies)?;
    // A script that asks for one policy wants its time soon.
    let extras = Extras { count: options.count_extras, tell: !options.json || options.policy.is_none() };
    let runs = runs::runs(&scenario, &policies, extras, Reader::of(options.json))?;
    pictures(options, &scenario, policies[0])?;
    if options.json {
        let mut objects: Vec<_> = runs.iter().map(|run| json::json(&scenario, run, options.traffic)).collect();
        let value = if options.policy.is_some() { objects.remove(0) } else { objects.into() };
        say_line!("{value}");
    } else {
        say!("{}", text::text(options, &scenario, &runs));
    }
    Ok(ExitCode::SUCCESS)
}

/// What --gantt and --trace ask for.
fn pictures(options: &Simulate, scenario: &Scenario, policy: Policy) -> Result<(), String> {
    if options.gantt.is_none() && options.trace.is_none() {
        return Ok(());
    }
    let progress = Progress::new(1, Reader::of(options.json));
    progress.begins(format!("drawing {}", policy.name()));
    let program = scenario.program(policy, options.count_extras)?;
    let run =
        hpmoe_simulator::simulate::simulate(&scenario.target, &*program, true).map_err(|stuck| stuck.to_string())?;
    let title = format!("{}, {}", policy.name(), text::about(options, scenario));
    let refused = |path: &Path, error: std::io::Error| format!("can't write {}: {error}", path.display());
    if let Some(path) = &options.gantt {
        let picture = gantt(&scenario.target, &*program, &run, &title);
        std::fs::write(path, picture).map_err(|error| refused(path, error))?;
    }
    if let Some(path) = &options.trace {
        let source = options.file.display().to_string();
        trace::trace(&source, &title, &*program, &run, path).map_err(|error| refused(path, error))?;
    }
    progress.ended();
    drop(progress);
    if let Some(path) = &options.gantt {
        eprintln!("simulated run (SVG): {}", path.display());
    }
    if let Some(path) = &options.trace {
        eprintln!("simulated run (trace events): {}", path.display());
    }
    Ok(())
}

/// The estimates that figures of these policies rest on.
fn assumed(scenario: &Scenario, policies: &[Policy]) -> Vec<String> {
    let target = &scenario.target;
    let used = |of: &&Constant| policies.iter().any(|policy| depends(policy.name(), of));
    target.assumed().filter(used).map(|of| target.words(of)).collect()
}
