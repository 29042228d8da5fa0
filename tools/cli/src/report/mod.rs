//! `hpmoe report`: a page with a kernel's graph, its simulated run task by task, and runs to compare it with.

mod drawing;
mod figures;
mod graph;
mod memory;
mod page;
mod run;
mod traffic;

use crate::options::{LayerArgs, ReportArgs};
use crate::output;
use crate::progress::{Progress, Reader};
use crate::simulate::json;
use crate::simulate::runs::runs;
use crate::simulate::scenario::Scenario;
use crate::simulate::text::about;
use hpmoe_kernels::printable::printable_path;
use hpmoe_simulator::simulate::Policy;
use page::Page;
use run::Run;
use std::process::ExitCode;

pub(crate) fn report(options: &ReportArgs) -> Result<ExitCode, String> {
    let (layer, reader) = (&options.layer, Reader::new(options.json));
    let scenario = Scenario::read(layer, &[Policy::Ours])?;
    let second = options.beside.as_ref().map(|file| second(layer, file.clone())).transpose()?;
    let policies = scenario.applying(&Policy::ALL);
    let drawn_policies = [Policy::Ours, Policy::Hyperparallel];
    let compared = runs(&scenario, &policies, &drawn_policies, reader)?;
    let beside = match &second {
        Some((_, other)) => runs(other, &[Policy::Ours], &[Policy::Ours], reader)?,
        None => Vec::new(),
    };

    let progress = Progress::new(1, reader);
    progress.begins("drawing".to_owned());
    let ours = Run::new(&scenario, &compared[0], &layer.file, options.rank)?;
    let rank = ours.rank;
    let mut drawn = vec![ours];
    for run in compared.iter().filter(|run| run.policy == Policy::Hyperparallel) {
        drawn.push(Run::new(&scenario, run, &layer.file, Some(rank))?);
    }
    if let (Some((layer, scenario)), [run]) = (&second, &beside[..]) {
        drawn.push(Run::new(scenario, run, &layer.file, Some(rank))?);
    }
    let schedule = scenario.schedule().ok_or("the kernel was not scheduled")?;
    let page = Page {
        title: about(&layer.routing, &scenario),
        figures: figures::figures(&scenario, &compared),
        graph: graph::graph(scenario.checked(), schedule),
        traffic: traffic::traffic(&drawn[0].traffic),
        memory: memory::memory(scenario.checked(), schedule, &scenario.routing, rank),
        runs: &drawn,
    };
    std::fs::write(&options.out, page.html())
        .map_err(|error| format!("can't write {}: {error}", printable_path(&options.out)))?;
    progress.ended();
    drop(progress);
    if options.json {
        output::line(json::list(&scenario, &compared, false))?;
    }
    output::note(format!("simulated run as a page (HTML): {}", printable_path(&options.out)));
    Ok(ExitCode::SUCCESS)
}

/// Reads a second layer from another file.
fn second(layer: &LayerArgs, file: std::path::PathBuf) -> Result<(LayerArgs, Scenario), String> {
    let layer = LayerArgs { file, ..layer.clone() };
    let scenario = Scenario::read(&layer, &[Policy::Ours]);
    let scenario = scenario.map_err(|problem| format!("--beside {}: {problem}", printable_path(&layer.file)))?;
    Ok((layer, scenario))
}
