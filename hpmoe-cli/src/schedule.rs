//! `hpmoe schedule`: the queues of a schedule, its numbers, and a picture.

mod export;
mod measure;

use crate::options::ScheduleArgs;
use crate::output;
use crate::plan::{FlowPlan, Tuning, plans};
use hpmoe_codegen::report::{schedule_svg, schedule_text, totals};
use hpmoe_codegen::target::Target;
use hpmoe_codegen::validate::ValidSchedule;
use std::process::ExitCode;

pub(crate) fn schedule(options: &ScheduleArgs) -> Result<ExitCode, String> {
    if let Some(tiles) = options.tile_tasks {
        return measure::measure(options, tiles);
    }
    let target = options.die.read()?;
    let file = options.file.as_deref().ok_or("which FILE.rs?")?;
    let plans = plans(file, &options.settings, &target, Tuning::unless(options.untuned))?;
    if let Some(path) = &options.export {
        let about = export::export(options, &target, plans, path)?;
        output::note(format!("schedule, task by task (JSON, {about}): {}", path.display()));
        return Ok(ExitCode::SUCCESS);
    }
    for plan in plans {
        let valid = plan.schedule(&target)?;
        if options.json {
            output::line(numbers(options, &plan, &valid))?;
        } else {
            let (graph, about) = (plan.checked.graph(), plan.about());
            output::line(format!("{}::{}, {about}\n", graph.kernel, graph.taskflow))?;
            output::line(schedule_text(&plan.checked, valid.schedule()))?;
        }
        picture(options, &target, &plan, &valid)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn numbers(options: &ScheduleArgs, plan: &FlowPlan, valid: &ValidSchedule) -> serde_json::Value {
    let totals = totals(&plan.checked, valid.schedule(), options.ranks);
    serde_json::json!({
        "ranks": totals.ranks,
        "tasks": totals.tiles,
        "entries": totals.entries,
        "dependencies": totals.dependencies,
        "counter_arrays": totals.counter_arrays_kept,
        "aic": totals.aic,
        "aiv": totals.aiv,
        "schedule": plan.origin.name(),
    })
}

fn picture(options: &ScheduleArgs, target: &Target, plan: &FlowPlan, valid: &ValidSchedule) -> Result<(), String> {
    let Some(path) = &options.svg else { return Ok(()) };
    let svg = schedule_svg(&plan.checked, valid.schedule(), target, options.ranks).ok_or_else(|| {
        let experts = plan.checked.graph().sizes.experts;
        format!("there is no schedule for {} ranks: choose a number that divides {experts} experts", options.ranks)
    })?;
    std::fs::write(path, svg).map_err(|error| format!("can't write {}: {error}", path.display()))?;
    output::note(format!("modelled schedule (SVG, {}): {}", plan.about(), path.display()));
    Ok(())
}
