//! The third stage, from a task graph to a checked one: hazards, readiness, on-chip plans.

mod dependencies;
mod hazards;
mod paths;
mod readiness;
mod rectangle;
mod reuse;
mod route;
#[cfg(test)]
mod tests;

pub use readiness::{Amount, Counter, Cover, Dependency, Grid, Hazard, Index, Need, RouteInput, Signal, Wait};
pub use reuse::{Reuse, Whose};

use crate::finding::{Errors, Finding};
use crate::graph::{Phase, TaskGraph, Tensor};
use crate::ids::{Arena, CounterId, TaskId, TensorId};
use crate::plan::{Plan, plan};

/// A task graph that has passed all checks: every element that is read is an input or was written before, every dependency has a counter or
/// a path, and every task fits the memories of its core. Outside of tests, only the front end makes one.
#[derive(Clone, Debug)]
pub struct CheckedGraph {
    graph: TaskGraph,
    counters: Arena<CounterId, Counter>,
    dependencies: Vec<Dependency>,
    reuse: Option<Reuse>,
    route_input: Option<RouteInput>,
    plans: Arena<TaskId, Plan>,
}

impl CheckedGraph {
    /// Creates a graph that no source produces, for tests of later passes.
    #[cfg(any(test, feature = "fixture"))]
    pub fn for_tests(graph: TaskGraph, counters: Arena<CounterId, Counter>, dependencies: Vec<Dependency>) -> Self {
        let plans = graph.tasks.iter().map(|(_, task)| plan(task).expect("a task of a test fits")).collect();
        Self { graph, counters, dependencies, reuse: None, route_input: None, plans }
    }
    /// This graph after `change`, with unchanged counters and dependencies, but without reuse of memory and input of a route; for tests.
    #[cfg(any(test, feature = "fixture"))]
    pub fn changed(&self, change: impl FnOnce(&mut TaskGraph)) -> Self {
        let mut graph = self.graph.clone();
        change(&mut graph);
        Self::for_tests(graph, self.counters.clone(), self.dependencies.clone())
    }
    /// The dependencies, for tests that break them.
    #[cfg(any(test, feature = "fixture"))]
    pub fn dependencies_mut(&mut self) -> &mut Vec<Dependency> {
        &mut self.dependencies
    }
    /// The arrays of counters, for tests that break them.
    #[cfg(any(test, feature = "fixture"))]
    pub fn counters_mut(&mut self) -> &mut Arena<CounterId, Counter> {
        &mut self.counters
    }
    /// The reuse of memory, for tests that break it.
    #[cfg(any(test, feature = "fixture"))]
    pub fn reuse_mut(&mut self) -> &mut Option<Reuse> {
        &mut self.reuse
    }
    /// This graph for launches with `chunks` chunks, of a kernel whose launches choose the number of chunks. Only `sizes.chunks` of the
    /// task graph differs.
    #[must_use]
    pub fn in_chunks(&self, chunks: usize) -> Self {
        let mut other = self.clone();
        other.graph.sizes.chunks = chunks;
        other
    }

    /// The task graph that was checked, with the spaces that only counters need.
    #[must_use]
    pub fn graph(&self) -> &TaskGraph {
        &self.graph
    }
    /// The arrays of counters that dependencies name; the schedule may use fewer.
    #[must_use]
    pub fn counters(&self) -> &Arena<CounterId, Counter> {
        &self.counters
    }
    /// All dependencies between phases, however they are enforced.
    #[must_use]
    pub fn dependencies(&self) -> &[Dependency] {
        &self.dependencies
    }
    /// The reuse of memory by chunks; `None` if every launch has at most as many chunks as buffers.
    #[must_use]
    pub fn reuse(&self) -> Option<&Reuse> {
        self.reuse.as_ref()
    }
    /// The wait of the kernel for the ids that it makes its route from; `None` if the host makes the route, or the ids are an argument of
    /// the launch.
    #[must_use]
    pub fn route_input(&self) -> Option<&RouteInput> {
        self.route_input.as_ref()
    }
    /// The wait of the kernel for its ids, for tests that break it.
    #[cfg(any(test, feature = "fixture"))]
    pub fn route_input_mut(&mut self) -> &mut Option<RouteInput> {
        &mut self.route_input
    }
    /// The tensors that the taskflow declares by `let` but that neither a call nor the route reads.
    pub fn unread(&self) -> impl Iterator<Item = &Tensor> {
        let made = self.graph.tensors.iter().filter(|(_, tensor)| !tensor.storage.is_argument());
        let read = |id: TensorId| {
            let origins = |phase: &Phase| phase.origins.is_some_and(|origins| origins.tensor == id);
            self.graph.route.as_ref().is_some_and(|route| route.ids == id)
                || hazards::accesses(&self.graph, id, false).next().is_some()
                || self.graph.phases.iter().any(|(_, phase)| origins(phase))
        };
        made.filter(move |(id, _)| !read(*id)).map(|(_, tensor)| tensor)
    }
    /// Adds numbers of ranks that schedules are made for, in addition to the numbers that divide the experts. The added numbers also decide
    /// whether a route that the kernel makes takes placements.
    pub fn name_ranks(&mut self, ranks: &[u32]) {
        self.graph.named_ranks.extend_from_slice(ranks);
    }
    /// The on-chip plan of each task: how it uses the memories of its core.
    #[must_use]
    pub fn plans(&self) -> &Arena<TaskId, Plan> {
        &self.plans
    }
}

/// Checks a graph and derives the order of its phases.
pub(crate) fn analyze(mut graph: TaskGraph, errors: &mut Errors) -> Option<CheckedGraph> {
    errors.within(Some(&graph.taskflow));
    hazards::hazards(&graph, errors);
    route::ids(&graph, errors);
    reuse::check_read(&graph, errors);
    errors.within(None);
    let plans = plans(&graph, errors);
    if !errors.is_empty() {
        return None;
    }
    let (mut counters, mut dependencies) = dependencies::dependencies(&mut graph);
    let reuse = reuse::reuse(&graph, &mut counters, &mut dependencies);
    paths::paths(&graph, &counters, &mut dependencies);
    let route_input = route::input(&graph, &mut counters);
    Some(CheckedGraph { graph, counters, dependencies, reuse, route_input, plans })
}

fn plans(graph: &TaskGraph, errors: &mut Errors) -> Arena<TaskId, Plan> {
    let planned = graph.tasks.iter().filter_map(|(_, task)| match plan(task) {
        Ok(plan) => Some(plan),
        Err(overflow) => {
            errors.push(task.span, Finding::Overflow { task: task.name.clone(), overflow });
            None
        }
    });
    planned.collect()
}
