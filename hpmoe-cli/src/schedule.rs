//! `hpmoe schedule`: queues, numbers and a picture.

mod export;
mod measure;

use crate::input::{Input, scheduled};
use crate::options::Schedule;
use crate::output::say_line;
use hpmoe_codegen::report::{schedule_svg, schedule_text, totals};
use hpmoe_codegen::target::Target;
use hpmoe_codegen::validate::ValidSchedule;
use hpmoe_language::analyze::CheckedGraph;
use std::process::ExitCode;

pub(crate) fn schedule(options: &Schedule) -> Result<ExitCode, String> {
    if let Some(tiles) = options.tile_tasks {
        return measure::measure(options, tiles);
    }
    if let Some(path) = &options.export {
        export::export(options, path)?;
        eprintln!("schedule, task by task (JSON): {}", path.display());
        return Ok(ExitCode::SUCCESS);
    }
    let target = options.die.read()?;
    for checked in Input::read(&options.source()?)?.flows()? {
        let valid = scheduled(&checked, &target)?;
        if options.json {
            say_line!("{}", numbers(options, &checked, &valid));
        } else {
            say_line!("{}", schedule_text(&checked, valid.schedule()));
        }
        picture(options, &target, &checked, &valid)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn numbers(options: &Schedule, checked: &CheckedGraph, valid: &ValidSchedule) -> serde_json::Value {
    let totals = totals(checked, valid.schedule(), options.ranks);
    serde_json::json!({
        "ranks": totals.ranks,
        "tasks": totals.tiles,
        "entries": totals.entries,
        "dependencies": totals.dependencies,
        "counter_arrays": totals.counter_arrays_kept,
        "aic": totals.aic,
        "aiv": totals.aiv,
    })
}

fn picture(options: &Schedule, target: &Target, checked: &CheckedGraph, valid: &ValidSchedule) -> Result<(), String> {
    let Some(path) = &options.svg else { return Ok(()) };
    let svg = schedule_svg(checked, valid.schedule(), target, options.ranks).ok_or_else(|| {
        let experts = checked.graph().sizes.experts;
        format!("there is no schedule for {} ranks: choose a number that divides {experts} experts", options.ranks)
    })?;
    std::fs::write(path, svg).map_err(|error| format!("can't write {}: {error}", path.display()))?;
    eprintln!("modelled schedule (SVG): {}", path.display());
    Ok(())
}
