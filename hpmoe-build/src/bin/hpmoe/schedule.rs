//! `hpmoe schedule`: queues, numbers and a picture.

use crate::input::{Input, scheduled};
use crate::options::Schedule;
use hpmoe_core::analyze::CheckedGraph;
use hpmoe_core::report::{schedule_svg, schedule_text, totals};
use hpmoe_core::schedule::Cores;
use hpmoe_core::target::Target;
use std::process::ExitCode;
use std::time::Instant;

pub(crate) fn schedule(options: &Schedule) -> Result<ExitCode, String> {
    if let Some(tiles) = options.tile_tasks {
        return measure(options, tiles);
    }
    for checked in Input::read(&options.source)?.flows()? {
        let valid = scheduled(&checked, options.source.matrix_cores)?;
        if options.json {
            let totals = totals(&checked, valid.schedule(), options.ranks);
            println!(
                "{}",
                serde_json::json!({
                    "ranks": totals.ranks,
                    "tasks": totals.tiles,
                    "entries": totals.entries,
                    "dependencies": totals.dependencies,
                    "counter_arrays": totals.counter_arrays_kept,
                    "aic": totals.aic,
                    "aiv": totals.aiv,
                })
            );
        } else {
            println!("{}", schedule_text(&checked, valid.schedule()));
        }
        if let Some(path) = &options.svg {
            let target = Cores::of(options.source.matrix_cores).on(&Target::ascend_a3());
            let svg = schedule_svg(&checked, valid.schedule(), &target, options.ranks).ok_or_else(|| {
                let experts = checked.graph().sizes.experts;
                format!(
                    "there is no schedule for {} ranks: choose a number that divides {experts} experts",
                    options.ranks
                )
            })?;
            std::fs::write(path, svg).map_err(|error| format!("can't write {}: {error}", path.display()))?;
            eprintln!("modelled schedule (SVG): {}", path.display());
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Schedules and validates the kernel with so many tokens that a rank has about `wanted` tiles.
fn measure(options: &Schedule, wanted: u64) -> Result<ExitCode, String> {
    let with_tokens = |tokens: u64| -> Result<CheckedGraph, String> {
        let mut source = options.source.clone();
        source.settings.push(format!("TOKENS={tokens}"));
        Input::read(&source)?.flows()?.into_iter().next().ok_or_else(|| "the file has no taskflow".to_owned())
    };
    let tiles = |checked: &CheckedGraph| -> Result<u64, String> {
        let valid = scheduled(checked, options.source.matrix_cores)?;
        Ok(totals(checked, valid.schedule(), options.ranks).tiles)
    };
    let base = 1 << 10;
    let tokens = (wanted * base / tiles(&with_tokens(base)?)?.max(1)).max(1);
    let checked = with_tokens(tokens)?;
    let start = Instant::now();
    let valid = scheduled(&checked, options.source.matrix_cores)?;
    let seconds = start.elapsed().as_secs_f64();
    let totals = totals(&checked, valid.schedule(), options.ranks);
    let bytes = totals.entries as f64 * 64.0;
    println!(
        "{}",
        serde_json::json!({
            "tasks": totals.tiles,
            "seconds": seconds,
            "bytes_per_task": bytes / totals.tiles.max(1) as f64,
        })
    );
    Ok(ExitCode::SUCCESS)
}
