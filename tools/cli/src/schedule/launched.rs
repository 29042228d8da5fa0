//! A schedule in a launch: figures about it, and a picture.

use crate::options::ScheduleArgs;
use crate::plan::FlowPlan;
use crate::routing;
use hpmoe_core::analyze::CheckedGraph;
use hpmoe_core::report::{simulated_svg, totals};
use hpmoe_core::schedule::Schedule;
use hpmoe_core::target::Target;
use hpmoe_core::validate::{ValidSchedule, default_rows};
use hpmoe_simulator::simulate::{Ours, Routing, default_chunks, schedule_in_chunks, simulate, tile_tasks};

/// A kernel and its schedule in a launch with the routing of the command line and the default capacity.
pub(super) struct Launched {
    pub(super) routing: Routing,
    pub(super) checked: CheckedGraph,
    schedule: Schedule,
}

impl Launched {
    pub(super) fn new(options: &ScheduleArgs, plan: &FlowPlan, valid: &ValidSchedule) -> Result<Self, String> {
        let graph = plan.graph();
        let routing = routing::of_schedule(options, &graph.sizes)?;
        let chunks = default_chunks(graph, &routing).map_err(|rows| {
            let (most, room) = (graph.sizes.most_chunks(), default_rows(graph, options.group()));
            format!("a rank would receive {rows} rows in one of {most} chunks, but there is room for {room}: pass another --routing")
        })?;
        let schedule = schedule_in_chunks(valid.schedule(), chunks).into_owned();
        Ok(Self { routing, checked: plan.checked.in_chunks(chunks), schedule })
    }

    pub(super) fn workload<'a>(&'a self, target: &'a Target) -> Result<Ours<'a>, String> {
        Ours::new(target, &self.checked, &self.schedule, &self.routing).map_err(|unfit| unfit.to_string())
    }

    pub(super) fn numbers(
        &self,
        options: &ScheduleArgs,
        target: &Target,
        plan: &FlowPlan,
    ) -> Result<serde_json::Value, String> {
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

    pub(super) fn picture(&self, options: &ScheduleArgs, target: &Target) -> Result<String, String> {
        let ours = self.workload(target)?;
        let run = simulate(target, &ours, true).map_err(|stuck| stuck.to_string())?;
        let about = format!("Routing {}: simulated latency {}. Rank 0.", options.routing, run.time);
        let ranks = options.group();
        simulated_svg(&self.checked, &self.schedule, ranks, &ours.timeline(&run, 0), &about)
            .ok_or_else(|| format!("there is no schedule for {ranks} ranks"))
    }
}
