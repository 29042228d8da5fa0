//! The required order of one rank's entries, as a sparse graph.
//!
//! All ranks run the same queues, with peers counted from the rank itself, so one rank stands for all. What arrives from a source at
//! distance `d` is what this rank sends to the peer at distance `d`.

use super::Entry;
use super::groups::{Groups, chunk};
use crate::analyze::{CheckedGraph, Index};
use crate::collections::Digraph;
use crate::collections::IdSet;
use crate::collections::SortedSet;
use crate::graph::{CHUNK_BUFFERS, TaskGraph};
use crate::ids::{Arena, CounterId, Id, PhaseId, RoleId};

/// The entries of one rank and their required order.
///
/// The nodes are, in this order: the entries, by number; a node for each group of counters, which follows all entries that signal it and
/// precedes all that wait for it; and, for each expert, a node for each point at which one phase of a role ends and the next begins. So the
/// number of edges grows with the number of entries, not with its square.
pub(super) struct Precedence {
    /// Number of nodes that stand for entries.
    pub(super) entries: usize,
    /// The first node that stands for program order rather than for data.
    pub(super) first_order: usize,
    graph: Digraph,
}

impl Precedence {
    /// Builds the graph. With `role_of`, the entries of an expert also keep the program order of phases within each role; without it, only
    /// data count.
    pub(super) fn new(
        checked: &CheckedGraph,
        groups: &Groups,
        ranks: u32,
        role_of: Option<&Arena<PhaseId, RoleId>>,
    ) -> Self {
        let mut edges = Edges { list: Vec::new(), nodes: groups.len() };
        let experts = checked.graph().sizes.expert_chunks(ranks as usize);
        edges.data(checked, groups, ranks, experts);
        edges.reuse(checked, groups, ranks);
        edges.route(checked, groups);
        let first_order = edges.nodes;
        if let Some(role_of) = role_of {
            edges.program_order(checked.graph(), groups, experts, role_of);
        }
        edges.sums(checked.graph(), groups, ranks);
        edges.finish(groups.len(), first_order)
    }

    /// Number of nodes.
    pub(super) fn len(&self) -> usize {
        self.graph.len()
    }

    /// Number of edges that lead to each node.
    pub(super) fn incoming(&self) -> Vec<u32> {
        self.graph.incoming()
    }

    /// The direct successors of a node.
    pub(super) fn successors(&self, node: usize) -> impl Iterator<Item = usize> + '_ {
        self.graph.successors(node)
    }

    /// All nodes, each after its predecessors; `None` if the graph has a cycle.
    pub(super) fn sorted(&self) -> Option<Vec<usize>> {
        self.graph.sorted()
    }
}

struct Edges {
    list: Vec<(u32, u32)>,
    nodes: usize,
}

impl Edges {
    fn data(&mut self, checked: &CheckedGraph, groups: &Groups, ranks: u32, experts: usize) {
        let graph = checked.graph();
        let counters = self.nodes;
        self.nodes += checked.counters().len() * experts;
        let node = |counter: CounterId, index, entry: Entry| {
            counters + counter.index() * experts + group_of(graph, ranks, index, entry)
        };
        let mut signals = SortedSet::default();
        let mut waits = SortedSet::default();
        // A phase that depends on itself is ordered by its tiles, not by its entries.
        let between = checked.dependencies().iter().filter(|d| d.before != d.after);
        for dependency in between {
            signals.insert((dependency.before, dependency.signal.counter, dependency.signal.index));
            waits.insert((dependency.after, dependency.wait.counter, dependency.wait.index));
        }
        for (phase, counter, index) in signals {
            for entry in groups.of_phase(phase) {
                self.add(groups.number(entry), node(counter, index, entry));
            }
        }
        // A wait for once-sent tiles may be for any expert up to its own, so each expert's counters follow those of the expert before.
        let of_once = waits.iter().filter(|wait| wait.2 == Index::OnceTiles).map(|wait| wait.1);
        for counter in of_once.collect::<IdSet<CounterId>>().iter() {
            let first = counters + counter.index() * experts;
            (first + 1..first + experts).for_each(|next| self.add(next - 1, next));
        }
        for (phase, counter, index) in waits {
            for entry in groups.of_phase(phase) {
                self.add(node(counter, index, entry), groups.number(entry));
            }
        }
    }

    /// Adds the order of reused memory: a chunk writes rows into the memory of the chunk before the previous one after the rows of that
    /// chunk are no longer read.
    fn reuse(&mut self, checked: &CheckedGraph, groups: &Groups, ranks: u32) {
        let (graph, Some(reuse)) = (checked.graph(), checked.reuse()) else { return };
        let first = self.nodes;
        self.nodes += graph.sizes.chunks;
        for entry in groups.of_phase(reuse.frees) {
            self.add(groups.number(entry), first + chunk(graph, ranks, entry) as usize);
        }
        // A freed word stands for its chunk and all earlier ones, so words are written in the order of chunks.
        for pair in groups.of_phase(reuse.frees).collect::<Vec<_>>().windows(2) {
            self.add(groups.number(pair[0]), groups.number(pair[1]));
        }
        for (phase, _) in reuse.waits.iter().filter(|(_, wait)| wait.is_some()) {
            for entry in groups.of_phase(phase) {
                if let Some(before) = (chunk(graph, ranks, entry) as usize).checked_sub(CHUNK_BUFFERS) {
                    self.add(first + before, groups.number(entry));
                }
            }
        }
    }

    /// Adds the order of the route: it is made after its ids are complete, and before everything that follows it in the taskflow.
    fn route(&mut self, checked: &CheckedGraph, groups: &Groups) {
        let (Some(route), Some(input)) = (&checked.graph().route, checked.route_input()) else { return };
        let made = self.nodes;
        self.nodes += 1;
        for &(phase, _) in &input.signals {
            groups.of_phase(phase).for_each(|entry| self.add(groups.number(entry), made));
        }
        for phase in checked.graph().phases.ids().filter(|&phase| !route.follows(phase)) {
            groups.of_phase(phase).for_each(|entry| self.add(made, groups.number(entry)));
        }
    }

    fn program_order(&mut self, graph: &TaskGraph, groups: &Groups, experts: usize, role_of: &Arena<PhaseId, RoleId>) {
        let by_chunk = |phase| graph.spaces[graph.phases[phase].space].by_chunk();
        let roles: IdSet<RoleId> = role_of.iter().map(|(_, &role)| role).collect();
        for role in roles.iter() {
            for of_chunks in [false, true] {
                let phases = graph.phases.ids().filter(|&phase| role_of[phase] == role && by_chunk(phase) == of_chunks);
                let phases: Vec<PhaseId> = phases.collect();
                for pair in phases.windows(2) {
                    let points = self.nodes;
                    self.nodes += experts;
                    for entry in groups.of_phase(pair[0]) {
                        self.add(groups.number(entry), points + entry.expert as usize);
                    }
                    for entry in groups.of_phase(pair[1]) {
                        self.add(points + entry.expert as usize, groups.number(entry));
                    }
                }
            }
        }
    }

    /// Adds the order of sums over all chunks: a chunk adds after the previous chunk has added.
    fn sums(&mut self, graph: &TaskGraph, groups: &Groups, ranks: u32) {
        for phase in graph.phases.ids().filter(|&phase| graph.adds_up(phase)) {
            let first = self.nodes;
            self.nodes += graph.sizes.chunks;
            for entry in groups.of_phase(phase) {
                let at = first + chunk(graph, ranks, entry) as usize;
                self.add(groups.number(entry), at);
                if at > first {
                    self.add(at - 1, groups.number(entry));
                }
            }
        }
    }

    fn add(&mut self, from: usize, to: usize) {
        self.list.push((from as u32, to as u32));
    }

    fn finish(self, entries: usize, first_order: usize) -> Precedence {
        Precedence { entries, first_order, graph: Digraph::new(self.nodes, &self.list) }
    }
}

/// The group of an array's counters that an entry touches: the entry's expert, or its chunk.
fn group_of(graph: &TaskGraph, ranks: u32, index: Index, entry: Entry) -> usize {
    match index {
        Index::RowTile | Index::Tile | Index::Expert | Index::OnceTiles => entry.expert as usize,
        Index::Block | Index::PieceBlocks | Index::Rank => chunk(graph, ranks, entry) as usize,
    }
}

#[cfg(test)]
mod tests;
