//! `hpmoe schedule`: the queues of a schedule, its numbers, and a picture.

mod export;
mod measure;

use crate::options::ScheduleArgs;
use crate::plan::{FlowPlan, Tuning, chosen, plans, warn_of_costly_sizes};
use crate::{output, routing};
use hpmoe_core::analyze::CheckedGraph;
use hpmoe_core::report::{schedule_text, simulated_svg, totals};
use hpmoe_core::schedule::Schedule;
use hpmoe_core::sizes::Expected;
use hpmoe_core::target::Target;
use hpmoe_core::validate::{ValidSchedule, default_rows};
use hpmoe_kernels::printable::printable_path;
use hpmoe_simulator::simulate::{Ours, Routing, default_chunks, in_chunks, simulate, tile_tasks};
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

/// The launches that open tile sizes are chosen for: those of the ranks that are given; for a picture or an export, which are of a launch,
/// that one, as `hpmoe simulate` has it; otherwise those of a build.
fn expected(options: &ScheduleArgs) -> Expected {
    let of_launch = options.svg.is_some() || options.export.is_some();
    Expected { ranks: options.ranks.or(of_launch.then_some(options.group())), tokens: None }
}

/// A kernel and its schedule in a launch of the command line's routing, with the default capacity.
struct Launched {
    routing: Routing,
    checked: CheckedGraph,
    schedule: Schedule,
}

impl Launched {
    fn new(options: &ScheduleArgs, plan: &FlowPlan, valid: &ValidSchedule) -> Result<Self, String> {
        let graph = plan.graph();
        let routing = routing::of_schedule(options, &graph.sizes)?;
        let chunks = default_chunks(graph, &routing).map_err(|rows| {
            let (most, room) = (graph.sizes.most_chunks(), default_rows(graph, options.group()));
            format!("a rank would receive {rows} rows in one of {most} chunks, but there is room for {room}: pass another --routing")
        })?;
        let (checked, schedule) = in_chunks(&plan.checked, valid.schedule(), chunks);
        Ok(Self { routing, checked, schedule })
    }

    fn workload<'a>(&'a self, target: &'a Target) -> Result<Ours<'a>, String> {
        Ours::new(target, &self.checked, &self.schedule, &self.routing).map_err(|unfit| unfit.to_string())
    }

    fn numbers(&self, options: &ScheduleArgs, target: &Target, plan: &FlowPlan) -> Result<serde_json::Value, String> {
        let totals = totals(&self.checked, &self.schedule, options.group());
        let tasks = tile_tasks(&self.workload(target)?);
        Ok(serde_json::json!({
            "kernel": plan.graph().kernel,
            "taskflow": plan.graph().taskflow,
            "ranks": totals.ranks,
            "chunks": self.checked.graph().sizes.chunks,
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

    fn picture(&self, options: &ScheduleArgs, target: &Target) -> Result<String, String> {
        let ours = self.workload(target)?;
        let run = simulate(target, &ours, true).map_err(|stuck| stuck.to_string())?;
        let about = format!("Routing {}: simulated latency {}. Rank 0.", options.routing, run.time);
        let ranks = options.group();
        simulated_svg(&self.checked, &self.schedule, ranks, &ours.timeline(&run, 0), &about)
            .ok_or_else(|| format!("there is no schedule for {ranks} ranks"))
    }
}
