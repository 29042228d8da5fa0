//! `hpmoe schedule`: the queues of a schedule, figures about it, and a picture.

mod export;
mod launched;
mod measure;

use crate::options::ScheduleArgs;
use crate::output;
use crate::plan::{Tuning, chosen, plans, warn_of_costly_sizes};
use hpmoe_core::report::schedule_text;
use hpmoe_core::sizes::Expected;
use hpmoe_kernels::printable::printable_path;
use launched::Launched;
use std::process::ExitCode;

pub(crate) fn schedule(options: &ScheduleArgs) -> Result<ExitCode, String> {
    if let Some(tiles) = options.tile_tasks {
        return measure::measure(options, tiles);
    }
    let target = options.die.read()?;
    let file = options.file.as_deref().ok_or("which FILE.rs?")?;
    let launches = (&target, expected(options));
    let mut plans = plans(file, &options.settings, launches, Tuning::unless(options.untuned))?;
    if options.taskflow.is_some() || options.svg.is_some() || options.export.is_some() {
        plans = vec![chosen(plans, options.taskflow.as_deref())?];
    }
    for plan in &plans {
        let valid = plan.schedule(&target)?;
        if options.json {
            output::line(Launched::new(options, plan, &valid)?.numbers(options, &target, plan)?)?;
        } else if options.export.is_none() {
            let (graph, about) = (plan.checked.graph(), plan.about());
            output::line(format!("{}::{}, {about}\n", graph.kernel, graph.taskflow))?;
            output::line(schedule_text(&plan.checked, valid.schedule()))?;
        }
        if let Some(path) = &options.svg {
            let svg = Launched::new(options, plan, &valid)?.picture(options, &target)?;
            std::fs::write(path, svg).map_err(|error| format!("can't write {}: {error}", printable_path(path)))?;
            output::note(format!("simulated schedule (SVG, {}): {}", plan.about(), printable_path(path)));
        }
        if let Some(path) = &options.export {
            export::export(options, &target, plan, &Launched::new(options, plan, &valid)?, path)?;
            output::note(format!("schedule, task by task (JSON, {}): {}", plan.about(), printable_path(path)));
        }
    }
    warn_of_costly_sizes(&plans, options.allow_slow_tile_sizes, launches);
    Ok(ExitCode::SUCCESS)
}

/// The launches for which open tile sizes are chosen: those with the given ranks; without them, the launch that a picture or an export
/// shows, as in `hpmoe simulate`; otherwise, the same launches as in a build.
fn expected(options: &ScheduleArgs) -> Expected {
    let of_launch = options.svg.is_some() || options.export.is_some();
    Expected { ranks: options.ranks.or(of_launch.then_some(options.group())), tokens: None }
}
