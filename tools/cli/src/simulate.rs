//! `hpmoe simulate`: simulates the kernel, the original system and serial execution on a target.

mod ablate;
mod assumed;
mod copies;
mod direction;
pub(crate) mod json;
pub(crate) mod runs;
pub(crate) mod scenario;
pub(crate) mod text;
mod trace;

pub(crate) use assumed::assumed;

use crate::options::SimulateArgs;
use crate::output;
use crate::progress::{Progress, Reader};
use hpmoe_kernels::printable::printable_path;
use hpmoe_simulator::gantt;
use hpmoe_simulator::simulate::Policy;
use runs::PolicyRun;
use scenario::Scenario;
use std::path::Path;
use std::process::ExitCode;

pub(crate) fn simulate(options: &SimulateArgs) -> Result<ExitCode, String> {
    let policies = options.policy.map_or_else(|| Policy::ALL.to_vec(), |name| vec![name.into()]);
    if options.ablate {
        return ablate(options);
    }
    let scenario = Scenario::read(&options.layer, &policies)?;
    let foreign = scenario.foreign().filter(|_| policies.contains(&Policy::Hyperparallel));
    if let Some(foreign) = foreign.as_ref().filter(|_| options.policy.is_some()) {
        return Err(foreign.clone());
    }
    let policies = scenario.applying(&policies);
    let is_drawn = options.gantt.is_some() || options.trace.is_some();
    let drawn = if is_drawn { &policies[..1] } else { &[] };
    let runs = runs::runs(&scenario, &policies, drawn, Reader::new(options.json))?;
    if is_drawn {
        pictures(options, &scenario, &runs[0])?;
    }
    if options.json {
        output::line(match options.policy {
            Some(_) => json::json(&scenario, &runs[0], options.traffic),
            None => json::list(&scenario, &runs, options.traffic),
        })?;
    } else {
        output::text(&text::text(options, &scenario, &runs, foreign.as_deref()))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints the gain from each choice in the schedule of `ours`.
fn ablate(options: &SimulateArgs) -> Result<ExitCode, String> {
    let scenario = Scenario::read(&options.layer, &[Policy::Ours])?;
    let ablations = ablate::ablations(&scenario, Reader::new(options.json))?;
    if options.json {
        output::line(ablations.json())?;
    } else {
        output::text(&ablations.text(&text::about(&options.layer.routing, &scenario)))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes the files given by --gantt and --trace.
fn pictures(options: &SimulateArgs, scenario: &Scenario, run: &PolicyRun) -> Result<(), String> {
    let policy = run.policy;
    let progress = Progress::new(1, Reader::new(options.json));
    progress.begins(format!("drawing {}", policy.name()));
    let workload = scenario.workload(policy)?;
    let separate = match run.separate.us() {
        0.0 => String::new(),
        separate => format!(" without {separate:.1} µs of other kernels"),
    };
    let title = format!("{}{separate}, {}", policy.name(), text::about(&options.layer.routing, scenario));
    let refused = |path: &Path, error: std::io::Error| format!("can't write {}: {error}", printable_path(path));
    if let Some(path) = &options.gantt {
        let picture = gantt(&scenario.target, &*workload, &run.simulated, &title);
        std::fs::write(path, picture).map_err(|error| refused(path, error))?;
    }
    if let Some(path) = &options.trace {
        let source = printable_path(&options.layer.file);
        trace::trace(&source, &title, &*workload, &run.simulated, path).map_err(|error| refused(path, error))?;
    }
    progress.ended();
    drop(progress);
    if let Some(path) = &options.gantt {
        output::note(format!("simulated run (SVG): {}", printable_path(path)));
    }
    if let Some(path) = &options.trace {
        output::note(format!("simulated run (trace events): {}", printable_path(path)));
    }
    Ok(())
}
