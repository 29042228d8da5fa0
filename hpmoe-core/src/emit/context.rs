//! The lookup tables that all emitters share.

use super::cpp::{self, identifier};
use super::{Machine, Names};
use crate::analyze::{CheckedGraph, Counter, Dependency, Grid, Index, Reuse, Wait};
use crate::collections::IdSet;
use crate::graph::{Height, Phase, RowKind, Space, SpaceKind, TaskGraph};
use crate::ids::{Arena, CounterId, Id, PhaseId, SpaceId, TaskId, TensorId};
use crate::plan::{ExternalPlan, Plan};
use crate::schedule::{CoreKind, Schedule};
use crate::validate::used_counters;

/// A checked graph and its schedule, with the names that generated text uses.
pub(super) struct Context<'a> {
    pub(super) graph: &'a TaskGraph,
    pub(super) counters: &'a Arena<CounterId, Counter>,
    pub(super) reuse: Option<&'a Reuse>,
    pub(super) dependencies: &'a [Dependency],
    plans: &'a Arena<TaskId, Plan>,
    machine: Machine,
    /// Whether cores keep time stamps of their tiles.
    pub(super) time_stamps: bool,
    pub(super) schedule: &'a Schedule,
    pub(super) file: &'a str,
    pub(super) tensor_names: Arena<TensorId, String>,
    pub(super) task_names: Arena<TaskId, String>,
    pub(super) used_counters: UsedCounters,
}

impl<'a> Context<'a> {
    pub(super) fn new(checked: &'a CheckedGraph, schedule: &'a Schedule, names: &Names<'a>, machine: Machine) -> Self {
        let graph = checked.graph();
        let (mut tensors, mut tasks) = (cpp::Scope::default(), cpp::Scope::default());
        Self {
            graph,
            counters: checked.counters(),
            reuse: checked.reuse(),
            dependencies: checked.dependencies(),
            plans: checked.plans(),
            machine,
            time_stamps: names.time_stamps,
            schedule,
            file: names.file,
            tensor_names: graph.tensors.iter().map(|(_, tensor)| tensors.new_name(&tensor.name)).collect(),
            task_names: graph.tasks.iter().map(|(_, task)| tasks.new_name(&task.label)).collect(),
            used_counters: UsedCounters::new(graph, checked.counters(), schedule),
        }
    }

    pub(super) fn core_kind(&self, phase: PhaseId) -> CoreKind {
        self.schedule.roles[self.schedule.phases[phase].role].kind
    }

    /// The plan of a task on its core: that of its external operator, or that of its body if the body replaces the operator on this
    /// machine.
    pub(super) fn plan(&self, task: TaskId) -> &'a Plan {
        match &self.plans[task] {
            Plan::External(ExternalPlan { body: Some(body), .. }) if self.machine == Machine::Host => body,
            plan => plan,
        }
    }

    /// `file:line`, or only the file if the line is not known.
    pub(super) fn place(&self, line: usize) -> String {
        if line == 0 { self.file.to_owned() } else { format!("{}:{line}", self.file) }
    }

    /// Row-tile spaces that the dispatch looks up, for an expert's first tile or for the number of a rank's tiles, because a counter stands
    /// for row tiles of another space than the phase's.
    pub(super) fn looked_up_spaces(&self) -> IdSet<SpaceId> {
        let mut spaces = IdSet::new();
        for (id, phase) in self.graph.phases.iter() {
            let waits = self.schedule.phases[id].waits.iter().map(|wait| (wait.counter, wait.index));
            let signals = self.schedule.phases[id].signals.iter().map(|signal| (signal.counter, signal.index));
            spaces.extend(waits.chain(signals).filter_map(|(counter, index)| self.looked_up(phase, counter, index)));
            spaces.extend(self.schedule.phases[id].waits.iter().flat_map(|wait| self.counted_spaces(wait)));
        }
        spaces
    }

    /// The space of a counter's row tiles, if it differs from the phase's space.
    pub(super) fn looked_up(&self, phase: &Phase, counter: CounterId, index: Index) -> Option<SpaceId> {
        match (index, self.counters[counter].grid) {
            (Index::RowTile | Index::Tile | Index::OnceTiles, Grid::RowTiles { space, .. }) => {
                (phase.space != space).then_some(space)
            }
            _ => None,
        }
    }

    /// The row-tile spaces whose tiles the threshold of a wait counts: every tile of such a space adds to a counter of the whole rank.
    fn counted_spaces(&self, wait: &Wait) -> Vec<SpaceId> {
        let pieces = wait.need.pieces.iter().filter(|_| wait.index == Index::Rank);
        pieces.filter_map(|&(height, _)| self.row_tiles(wait.counter, height)).collect()
    }

    /// The row-tile space of that height if a counter stands for received rows. Blocks of tokens are not row tiles, even if they have that
    /// height.
    pub(super) fn row_tiles(&self, counter: CounterId, height: Height) -> Option<SpaceId> {
        let tensor = &self.graph.tensors[self.counters[counter].tensor];
        let is_space = |space: &Space| space.kind == SpaceKind::RowTiles && space.height == height;
        (tensor.rows == RowKind::Received).then(|| self.graph.spaces.position(is_space)).flatten()
    }

    pub(super) fn space_name(&self, space: SpaceId) -> String {
        let Space { kind, height } = self.graph.spaces[space];
        format!("{}_{}", if kind == SpaceKind::OnceTiles { "once_tiles" } else { "row_tiles" }, height.number())
    }
}

/// The counter arrays that a schedule uses, numbered without gaps; kernel and runtime use these numbers.
pub(super) struct UsedCounters {
    /// Counter arrays with their names, by number. Their ids are in ascending order.
    arrays: Vec<(CounterId, String)>,
}

impl UsedCounters {
    pub(super) fn new(graph: &TaskGraph, counters: &Arena<CounterId, Counter>, schedule: &Schedule) -> Self {
        let used = used_counters(schedule);
        let mut names = cpp::Scope::default();
        let named = |id: CounterId| {
            let counter = &counters[id];
            let tensor = identifier(&graph.tensors[counter.tensor].name);
            let grid = match counter.grid {
                Grid::RowTiles { columns: 1, .. } => "rows",
                Grid::RowTiles { .. } => "tiles",
                Grid::Experts => "experts",
                Grid::Blocks { .. } => "blocks",
                Grid::Rank => "all",
            };
            let grid = if counter.through { "through" } else { grid };
            (id, names.new_name(&format!("{tensor}_{grid}")))
        };
        Self { arrays: used.iter().map(named).collect() }
    }

    /// The counter arrays with their names, in the order of their numbers.
    pub(super) fn iter(&self) -> impl Iterator<Item = (CounterId, &str)> {
        self.arrays.iter().map(|(id, name)| (*id, name.as_str()))
    }

    pub(super) fn number(&self, counter: CounterId) -> u32 {
        self.place(counter) as u32
    }

    pub(super) fn name(&self, counter: CounterId) -> &str {
        &self.arrays[self.place(counter)].1
    }

    fn place(&self, counter: CounterId) -> usize {
        self.arrays.binary_search_by_key(&counter, |&(id, _)| id).expect("the schedule uses the counter")
    }

    /// The meaning of a counter array in words: the data that each of its counters stands for.
    pub(super) fn meaning(graph: &TaskGraph, counter: &Counter) -> String {
        let tensor = &graph.tensors[counter.tensor].name;
        match counter.grid {
            Grid::RowTiles { space, columns } => {
                let height = graph.spaces[space].height;
                let columns = if columns == 1 { String::new() } else { format!(", each of {columns} columns") };
                format!("{tensor}, row tiles of {height}{columns}")
            }
            Grid::Experts => format!("{tensor}, all rows of an expert"),
            Grid::Blocks { height } => format!("{tensor}, blocks of {height} tokens"),
            Grid::Rank if counter.through => format!("{tensor}, how much of a chunk is no longer read"),
            Grid::Rank => format!("{tensor}, all of it"),
        }
    }
}

/// The number of an id in generated text.
pub(super) fn number<I: Id>(id: I) -> u64 {
    id.index() as u64
}
