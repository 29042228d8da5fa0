//! `hpmoe schedule`: the queues of a schedule, its numbers, and a picture.

mod export;
mod measure;

use crate::options::ScheduleArgs;
use crate::plan::{FlowPlan, Tuning, chosen, plans, warn_of_costly_sizes};
use crate::{output, routing};
use hpmoe_core::report::{schedule_text, simulated_svg, totals};
use hpmoe_core::sizes::Expected;
use hpmoe_core::target::Target;
use hpmoe_core::validate::ValidSchedule;
use hpmoe_kernels::printable::printable_path;
use hpmoe_simulator::simulate::{Ours, simulate, tile_tasks};
use std::process::ExitCode;

pub(crate) fn schedule(options: &ScheduleArgs) -> Result<ExitCode, String> {
    if let Some(tiles) = options.tile_tasks {
        return measure::measure(options, tiles);
    }
    let target = options.die.read()?;
    let file = options.file.as_deref().ok_or("which FILE.rs?")?;
    let launches = (&target, expected(options));
    let mut plans = plans(file, &options.settings, launches, Tuning::unless(options.untuned))?;
    if options.taskflow.is_some() || options.svg.is_some() {
        plans = vec![chosen(plans, options.taskflow.as_deref())?];
    }
    if let Some(path) = &options.export {
        warn_of_costly_sizes(&plans, options.allow_slow_tile_sizes, launches);
        let about = export::export(options, &target, plans, path)?;
        output::note(format!("schedule, task by task (JSON, {about}): {}", printable_path(path)));
        return Ok(ExitCode::SUCCESS);
    }
    for plan in &plans {
        let valid = plan.schedule(&target)?;
        if options.json {
            output::line(numbers(options, &target, plan, &valid)?)?;
        } else {
            let (graph, about) = (plan.checked.graph(), plan.about());
            output::line(format!("{}::{}, {about}\n", graph.kernel, graph.taskflow))?;
            output::line(schedule_text(&plan.checked, valid.schedule()))?;
        }
        picture(options, &target, plan, &valid)?;
    }
    warn_of_costly_sizes(&plans, options.allow_slow_tile_sizes, launches);
    Ok(ExitCode::SUCCESS)
}

/// The launches that open tile sizes are chosen for: those of the ranks that are given; for a picture or an export, which are of a launch,
/// that one, as `hpmoe simulate` has it; otherwise those of a build.
fn expected(options: &ScheduleArgs) -> Expected {
    let of_launch = options.svg.is_some() || options.export.is_some();
    Expected { ranks: options.ranks.or(of_launch.then_some(options.group())), tokens: None }
}

/// The workload of a taskflow's schedule with the routing of the command line.
fn workload<'a>(
    options: &ScheduleArgs,
    target: &'a Target,
    plan: &'a FlowPlan,
    valid: &'a ValidSchedule,
) -> Result<Ours<'a>, String> {
    let routing = routing::of_schedule(options, &plan.graph().sizes)?;
    Ours::new(target, &plan.checked, valid.schedule(), &routing).map_err(|unfit| unfit.to_string())
}

fn numbers(
    options: &ScheduleArgs,
    target: &Target,
    plan: &FlowPlan,
    valid: &ValidSchedule,
) -> Result<serde_json::Value, String> {
    let totals = totals(&plan.checked, valid.schedule(), options.group());
    let tasks = tile_tasks(&workload(options, target, plan, valid)?);
    Ok(serde_json::json!({
        "kernel": plan.graph().kernel,
        "taskflow": plan.graph().taskflow,
        "ranks": totals.ranks,
        "tasks": tasks,
        "entries": totals.entries,
        "dependencies": totals.dependencies,
        "counter_arrays": totals.counter_arrays_kept,
        "aic": totals.aic,
        "aiv": totals.aiv,
        "schedule": plan.origin.name(),
        "tile_sizes": plan.tile_sizes(),
    }))
}

fn picture(options: &ScheduleArgs, target: &Target, plan: &FlowPlan, valid: &ValidSchedule) -> Result<(), String> {
    let Some(path) = &options.svg else { return Ok(()) };
    let ours = workload(options, target, plan, valid)?;
    let run = simulate(target, &ours, true).map_err(|stuck| stuck.to_string())?;
    let about = format!("Routing {}: simulated latency {}. Rank 0.", options.routing, run.time);
    let ranks = options.group();
    let svg = simulated_svg(&plan.checked, valid.schedule(), ranks, &ours.timeline(&run, 0), &about)
        .ok_or_else(|| format!("there is no schedule for {ranks} ranks"))?;
    std::fs::write(path, svg).map_err(|error| format!("can't write {}: {error}", printable_path(path)))?;
    output::note(format!("simulated schedule (SVG, {}): {}", plan.about(), printable_path(path)));
    Ok(())
}
