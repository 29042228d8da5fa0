//! The order of entries on a representative rank, as a graph.

use crate::analyze::{CheckedGraph, Index};
use crate::collections::Digraph;
use crate::collections::SortedSet;
use crate::graph::CHUNK_BUFFERS;
use crate::ids::{Arena, CounterId, PhaseId};
use crate::schedule::{CoreKind, Entry, Order, Schedule, chunk};

/// The phases that signal and await each counter array, by dependencies and by the schedule.
pub(super) struct CounterUses {
    signals: SortedSet<(PhaseId, CounterId, Index)>,
    pub(super) waits: SortedSet<(PhaseId, CounterId, Index)>,
    /// The counter of the ids that the route waits for.
    ids: Option<CounterId>,
}

impl CounterUses {
    pub(super) fn new(checked: &CheckedGraph, schedule: &Schedule) -> Self {
        let ids = schedule.routed_after.as_ref().map(|wait| wait.counter);
        let mut uses = Self { signals: SortedSet::default(), waits: SortedSet::default(), ids };
        for dependency in checked.dependencies() {
            let (signal, wait) = (&dependency.signal, &dependency.wait);
            uses.signals.insert((dependency.before, signal.counter, signal.index));
            uses.waits.insert((dependency.after, wait.counter, wait.index));
        }
        for (id, phase) in schedule.phases.iter() {
            uses.signals.extend(phase.signals.iter().map(|s| (id, s.counter, s.index)));
            uses.waits.extend(phase.waits.iter().map(|wait| (id, wait.counter, wait.index)));
        }
        uses
    }
}

/// The edges of the graph; each leads to a node that comes later.
///
/// The nodes are the entries; one per counter array and expert chunk; one per chunk, for the end of its reads; and one
/// for the tables, if the kernel makes its route.
pub(super) struct OrderGraph<'a> {
    checked: &'a CheckedGraph,
    order: &'a Order,
    entries: Vec<Entry>,
    /// For each entry, the first of the entries that it is walked together with, or takes turns with. That entry stands for all of them.
    heads: Vec<usize>,
    by_phase: Arena<PhaseId, Vec<usize>>,
    list: Vec<(u32, u32)>,
}

impl<'a> OrderGraph<'a> {
    pub(super) fn new(checked: &'a CheckedGraph, schedule: &Schedule, order: &'a Order) -> Self {
        let entries: Vec<Entry> = order.queues.iter().flat_map(|(_, queue)| queue.iter().copied()).collect();
        let mut heads = Vec::with_capacity(entries.len());
        let mut by_phase: Arena<PhaseId, Vec<usize>> = schedule.phases.ids().map(|_| Vec::new()).collect();
        for (number, entry) in entries.iter().enumerate() {
            by_phase[entry.phase].push(number);
        }
        for (_, queue) in order.queues.iter() {
            for run in schedule.runs(checked.graph(), order, queue) {
                let head = heads.len();
                heads.extend(std::iter::repeat_n(head, run.iter().map(|walk| walk.len()).sum()));
            }
        }
        Self { checked, order, entries, heads, by_phase, list: Vec::new() }
    }

    /// The entries of a cycle in order; `None` if there is no cycle.
    pub(super) fn cycle(mut self, uses: &CounterUses) -> Option<Vec<Entry>> {
        self.queues();
        self.signals(uses);
        self.waits(uses);
        self.once_tiles(uses);
        self.reuse();
        self.route(uses);
        let last = self.list.iter().map(|&(from, to)| from.max(to)).max()?;
        let nodes = Digraph::new(last as usize + 1, &self.list).cycle()?;
        Some(nodes.into_iter().filter_map(|node| self.entries.get(node).copied()).collect())
    }

    /// Adds the order of queues: an entry comes after the previous one in its queue.
    fn queues(&mut self) {
        let mut first = 0;
        for (_, queue) in self.order.queues.iter() {
            for number in first + 1..first + queue.len() {
                if self.heads[number] == number {
                    self.add(number - 1, number);
                }
            }
            first += queue.len();
        }
    }

    /// Adds the order of signals: a counter is complete after all entries that signal it.
    fn signals(&mut self, uses: &CounterUses) {
        for &(phase, counter, index) in &uses.signals {
            for number in self.by_phase[phase].clone() {
                let entry = self.entries[number];
                self.add(number, self.counter(counter, self.group(index, entry)));
            }
        }
    }

    /// Adds the order of waits: an entry comes after the counters that it waits for.
    fn waits(&mut self, uses: &CounterUses) {
        for &(phase, counter, index) in &uses.waits {
            for number in self.by_phase[phase].clone() {
                let group = self.group(index, self.entries[number]);
                self.add(self.counter(counter, group), number);
            }
        }
    }

    /// Adds the order of once-sent rows: a tile of such rows may belong to any expert up to that of the waiting entry, so the counters of
    /// each expert come after those of the previous expert.
    fn once_tiles(&mut self, uses: &CounterUses) {
        for &(_, counter, _) in uses.waits.iter().filter(|(_, _, index)| *index == Index::OnceTiles) {
            for expert in 1..self.expert_chunks() {
                self.add(self.counter(counter, expert - 1), self.counter(counter, expert));
            }
        }
    }

    /// Adds the order of reused memory: an entry that writes memory of an earlier chunk comes after the word that frees that chunk.
    fn reuse(&mut self) {
        let Some(reuse) = self.checked.reuse() else { return };
        for (number, entry) in self.entries.clone().into_iter().enumerate() {
            let chunk = chunk(self.checked.graph(), self.order.ranks, entry) as usize;
            if entry.phase == reuse.frees {
                self.add(number, self.freed(chunk));
            }
            if let (Some(_), Some(before)) = (reuse.waits[entry.phase], chunk.checked_sub(CHUNK_BUFFERS)) {
                self.add(self.freed(before), number);
            }
        }
    }

    /// Adds the order of the route. The tables are complete when the vector cores of all ranks have reached the route and all ids are
    /// complete. In every queue, all entries after the route come after the tables. Entries before the route in queues of matrix cores need
    /// not come before the tables.
    fn route(&mut self, uses: &CounterUses) {
        let queues = self.order.queues.len();
        let Some(routed_at) = self.order.routed_at.as_ref().filter(|at| at.len() == queues) else { return };
        let tables = self.freed(self.checked.graph().sizes.chunks);
        if let Some(ids) = uses.ids {
            self.add(self.counter(ids, 0), tables);
        }
        let mut first = 0;
        for (part, queue) in self.order.queues.iter() {
            let at = queue.len().min(routed_at[part] as usize);
            if at > 0 && self.order.parts[part].kind == CoreKind::Aiv {
                self.add(first + at - 1, tables);
            }
            if at < queue.len() {
                self.add(tables, first + at);
            }
            first += queue.len();
        }
    }

    /// Adds an edge. An entry's number stands for the head of its walk.
    fn add(&mut self, from: usize, to: usize) {
        let [from, to] = [from, to].map(|node| *self.heads.get(node).unwrap_or(&node) as u32);
        self.list.push((from, to));
    }

    fn counter(&self, counter: CounterId, group: usize) -> usize {
        self.entries.len() + counter.0 as usize * self.expert_chunks() + group
    }

    fn freed(&self, chunk: usize) -> usize {
        self.entries.len() + self.checked.counters().len() * self.expert_chunks() + chunk
    }

    /// The group of counters in an array that an entry touches: those of its expert, or of its chunk.
    fn group(&self, index: Index, entry: Entry) -> usize {
        match index {
            Index::RowTile | Index::Tile | Index::Expert | Index::OnceTiles => entry.expert as usize,
            Index::Block | Index::PieceBlocks | Index::Rank => {
                chunk(self.checked.graph(), self.order.ranks, entry) as usize
            }
        }
    }

    fn expert_chunks(&self) -> usize {
        self.checked.graph().sizes.expert_chunks(self.order.ranks as usize)
    }
}
