//! The walk of cores through the queues of a schedule.

use super::costs::costs;
use super::counters::CounterLayout;
use super::layout::{ItemRows, Layout};
use super::route::{RouteCore, RouteSteps};
use super::turns::{EntryTurns, turns};
use super::unfit::{Unfit, fitting_order};
use crate::simulate::{
    Ahead, CounterSignal, CounterWait, Cursor, EntryTile, Joined, Op, PolicyCosts, QueuedTask, Routing, Work, Workload,
    Works,
};
use hpmoe_core::analyze::{CheckedGraph, Reuse, Whose};
use hpmoe_core::emit::awaits_ready;
use hpmoe_core::graph::CHUNK_BUFFERS;
use hpmoe_core::ids::{Arena, Id, PartId, PhaseId};
use hpmoe_core::schedule::{Comes, CoreKind, Deal, Entry, Order, Role, Schedule, Swizzle, ahead_of};
use hpmoe_core::target::Target;
use hpmoe_kernels::route::PieceTurns;

/// The workload of [`Policy::Ours`](crate::simulate::Policy::Ours): a schedule with the extents of a routing.
#[derive(Clone, Debug)]
pub struct Ours<'a> {
    pub(super) target: &'a Target,
    pub(super) checked: &'a CheckedGraph,
    schedule: &'a Schedule,
    pub(super) order: &'a Order,
    pub(super) layout: Layout,
    pub(super) works: Arena<PhaseId, Works>,
    /// For each phase, the numbers of phases that are walked together with it.
    joined: Arena<PhaseId, Joined>,
    /// For each phase, the numbers of phases that read its panels, whether or not they are walked together.
    pub(super) sharing: Arena<PhaseId, Joined>,
    /// Whether the tiles of each phase wait for the ready word of the rank that they put to.
    awaits_ready: Arena<PhaseId, bool>,
    counters: CounterLayout,
    /// For each part and entry, the entries that it takes turns with; `None` if it takes no turns.
    pub(super) turns: Arena<PartId, Vec<Option<EntryTurns>>>,
    /// For each part and entry, the reason why a core visits it.
    comes: Arena<PartId, Vec<Comes>>,
    /// For each rank, the number of tiles that count before each phase when tiles are dealt to cores.
    starts: Vec<Arena<PhaseId, u64>>,
    ops: Vec<Op>,
    costs: PolicyCosts,
    /// The steps of making the route, if tasks come before it. They are an operation of their own, numbered after those of all phases.
    route: Option<RouteSteps>,
}

/// The extents of a task's tile for a routing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TileExtents {
    /// Number of rows or tokens of the tile; 0 for a step of making a route.
    pub rows: u32,
    /// Number of columns that are written.
    pub columns: u32,
    /// Number of terms in each sum of a product; 0 for other tasks.
    pub depth: u32,
}

impl<'a> Ours<'a> {
    /// Makes the workload of a schedule on all ranks of a routing.
    ///
    /// # Errors
    ///
    /// If kernel and routing have different numbers of experts or of experts per token, a rank has more tokens than the kernel takes, or
    /// the kernel has no schedule for the number of ranks.
    pub fn new(
        target: &'a Target,
        checked: &'a CheckedGraph,
        schedule: &'a Schedule,
        routing: &Routing,
    ) -> Result<Self, Unfit> {
        let graph = checked.graph();
        let order = fitting_order(checked, schedule, routing)?;
        let walked = graph.phases.ids().filter(|&phase| schedule.arrival_turn(order, phase).is_some());
        let by_arrival = walked.map(|phase| graph.phases[phase].space).collect();
        let experts = schedule.expert_orders.on(routing.ranks());
        let layout = Layout::new(graph, routing, experts, (&by_arrival, order.sends.turn().unwrap_or(1)));
        let counters = CounterLayout::new(checked, schedule, &layout, routing);
        let start = |rank, phase: PhaseId| -> u64 {
            let before = schedule.phases[phase].preceding.iter();
            before.map(|&(space, columns)| u64::from(layout.items(space, rank)) * u64::from(columns)).sum()
        };
        let starts =
            (0..layout.ranks).map(|rank| graph.phases.ids().map(|phase| start(rank, phase)).collect()).collect();
        let ops =
            graph.phases.iter().map(|(id, phase)| Op { name: graph.phase_name(id), line: phase.line, tiles: true });
        let comes = |part| {
            let walks = schedule.walks_of_ranges(graph, order, part);
            walks.flat_map(|(walk, comes)| std::iter::repeat_n(comes, walk.len())).collect()
        };
        let route = RouteSteps::new(target, checked, schedule, routing);
        let works = Works::of_phases(graph);
        let all: Vec<PhaseId> = graph.phases.ids().collect();
        let of_route =
            route.iter().map(|route| Op { name: "tables of the route".into(), line: route.line, tiles: false });
        Ok(Self {
            ops: ops.chain(of_route).collect(),
            route,
            joined: schedule.joined(&works),
            sharing: all.iter().map(|&phase| Works::joined(&works, &all, phase)).collect(),
            works,
            turns: order.queues.iter().map(|(_, queue)| turns(checked, schedule, order, queue)).collect(),
            comes: order.queues.ids().map(comes).collect(),
            awaits_ready: graph.phases.ids().map(|id| awaits_ready(graph, checked.dependencies(), id)).collect(),
            target,
            checked,
            schedule,
            order,
            layout,
            counters,
            starts,
            costs: costs(target, checked, schedule, routing),
        })
    }

    /// The extents of the tile of task `task` on rank `rank`.
    #[must_use]
    pub fn tile(&self, rank: u32, task: &QueuedTask) -> TileExtents {
        if let Work::Gemm { m, n, k, .. } = task.work {
            return TileExtents { rows: m, columns: n, depth: k };
        }
        let phase = PhaseId(task.op);
        if phase.index() == self.phases() {
            return TileExtents { rows: 0, columns: 0, depth: 0 };
        }
        let space = self.checked.graph().phases[phase].space;
        let rows = self.layout.item(space, rank, task.group, task.item).rows;
        TileExtents { rows, columns: self.works[phase].width(task.column), depth: 0 }
    }

    /// Number of phases.
    pub(super) fn phases(&self) -> usize {
        self.checked.graph().phases.len()
    }

    pub(super) fn part(&self, kind: CoreKind, core: u32) -> Option<(PartId, &Role)> {
        let mine = |role: &Role| role.kind == kind && (role.first..role.first + role.count).contains(&core);
        self.order.parts.iter().find(|(_, role)| mine(role))
    }

    pub(super) fn group(&self, rank: u32, entry: Entry) -> u32 {
        let kind = self.layout.kind(self.checked.graph().phases[entry.phase].space);
        let peer = (rank + entry.peer_offset) % self.layout.ranks;
        self.layout.group_at(kind, (rank, peer), entry.expert)
    }

    fn fill(
        &self,
        rank: u32,
        entry: Entry,
        (items, number): (u32, u64),
        pieces: Option<PieceTurns>,
        task: &mut QueuedTask,
    ) {
        let phase = &self.checked.graph().phases[entry.phase];
        let band = self.schedule.phases[entry.phase].band;
        let outer = self.checked.graph().column_rows(entry.phase);
        let wide = u64::from(phase.columns() / outer);
        let swizzle = Swizzle { items: (items * outer).into(), columns: wide, band: band.into() };
        let (place, column) = swizzle.place(number);
        let (place, column) = (place / u64::from(outer), place % u64::from(outer) * wide + column);
        let group = self.group(rank, entry);
        let by_arrival = self.schedule.arrival_turn(self.order, entry.phase).is_some();
        let place = match pieces {
            Some(pieces) => pieces.piece(place as usize) as u32,
            None => self.layout.walked(phase.space, (rank, group), place as u32, by_arrival),
        };
        let item = self.layout.item(phase.space, rank, group, place);
        let column = column as u32;
        task.op = entry.phase.index() as u32;
        task.group = group;
        task.item = place;
        task.column = column;
        let tile =
            EntryTile { peer: item.peer, rows: item.rows, column, items, band, joined: self.joined[entry.phase] };
        task.work = self.works[entry.phase].work(self.target, tile);
        task.ahead = ahead_of(self.checked, self.schedule, entry.phase, &task.work);
        task.awaits_ready = (self.awaits_ready[entry.phase] && item.peer != rank).then_some(item.peer);
        task.waits.clear();
        for wait in &self.schedule.phases[entry.phase].waits {
            self.counters.wait(&self.layout, rank, (&item, column), wait, &mut task.waits);
        }
        task.shares_next_fence = self.schedule.shares_next_fence(self.checked.graph(), entry.phase);
        task.signals.clear();
        for signal in self.schedule.signals_after(self.checked.graph(), entry.phase) {
            self.counters.signal(&self.layout, rank, (&item, column), signal, &mut task.signals);
        }
        if let Some(reuse) = self.checked.reuse() {
            self.reuse(reuse, rank, (entry.phase, &item), task);
        }
    }
}

impl Ours<'_> {
    /// Adds waits and signals for freed words, if the task waits for a chunk's memory or frees it.
    fn reuse(&self, reuse: &Reuse, rank: u32, (phase, item): (PhaseId, &ItemRows), task: &mut QueuedTask) {
        if phase == reuse.frees {
            let tell = |to| CounterSignal {
                rank: to,
                counter: self.counters.freed(&self.layout, (to, rank), item.chunk),
                amount: 1,
            };
            task.signals.extend((0..self.layout.ranks).map(tell));
        }
        if let (Some(whose), Some(before)) = (reuse.waits[phase], item.chunk.checked_sub(CHUNK_BUFFERS as u32)) {
            let writer = if whose == Whose::Peer { item.peer } else { rank };
            task.waits
                .push(CounterWait { counter: self.counters.freed(&self.layout, (rank, writer), before), need: 1 });
        }
    }
}

impl Workload for Ours<'_> {
    fn costs(&self) -> &PolicyCosts {
        &self.costs
    }

    fn ranks(&self) -> u32 {
        self.layout.ranks
    }

    fn cores(&self, kind: CoreKind) -> u32 {
        match kind {
            CoreKind::Aic => self.schedule.aic,
            CoreKind::Aiv => self.schedule.aiv,
        }
    }

    fn counters(&self, rank: u32) -> u32 {
        self.counters.len(rank)
    }

    fn ops(&self) -> &[Op] {
        &self.ops
    }

    fn least(&self, rank: u32, task: &QueuedTask) -> (Work, Ahead) {
        self.in_any_order(rank, task)
    }

    fn next(&self, rank: u32, kind: CoreKind, core: u32, cursor: &mut Cursor, task: &mut QueuedTask) -> bool {
        let Some((part, Role { first, count, .. })) = self.part(kind, core) else { return false };
        let route_core = RouteCore { rank, kind, number: core, part };
        let (number, count) = (u64::from(core - first), u64::from(*count));
        task.entries = 0;
        loop {
            let of_route = self
                .route
                .as_ref()
                .is_some_and(|route| route.next(self.order, (&self.counters, &self.layout), &route_core, cursor, task));
            if of_route {
                task.op = self.phases() as u32;
                return true;
            }
            let Some(&entry) = self.order.queues[part].get(cursor.entry as usize) else { return false };
            let queue = &self.order.queues[part];
            let joined = 1 + queue[cursor.entry as usize + 1..]
                .iter()
                .take_while(|next| self.schedule.phases[next.phase].joins_previous)
                .count();
            let joined = joined as u32;
            let deal = Deal { cores: count, rotation: self.schedule.phases[entry.phase].rotation.into() };
            let phase = &self.checked.graph().phases[entry.phase];
            let items = self.items(rank, entry);
            let columns = u64::from(phase.columns());
            let fresh = cursor.tile == 0;
            // `cursor.tile` is the number of the next task plus one, and 0 at the start of an entry. Tasks are the tiles of the
            // entry, each followed by the same tile of the entries that join it.
            let counted = self.layout.counted(phase.space, rank, self.group(rank, entry));
            let base = self.starts[rank as usize][entry.phase] + u64::from(counted) * columns;
            let pieces = self.turns[part][cursor.entry as usize].map(|turns| self.pieces(rank, entry, turns.rows));
            let begin = |turn: u32| pieces.map(|pieces| pieces.begin(turn as usize) as u64 * columns);
            let (from, to) = (begin(cursor.turn).unwrap_or(0), begin(cursor.turn + 1).unwrap_or(u64::MAX));
            let task_number = match cursor.tile {
                0 => (deal.first(number, base + from) - base) * u64::from(joined),
                next => next - 1,
            };
            let (tile, join) = (task_number / u64::from(joined), (task_number % u64::from(joined)) as u32);
            let has_tile = tile < to.min(u64::from(items) * columns);
            if fresh {
                // In the first turn, cores look for groups in which they have tiles in any turn. They visit these in each turn.
                let visits = deal.first(number, base) - base < u64::from(items) * columns;
                let comes = self.comes[part][cursor.entry as usize];
                task.entries += if cursor.turn == 0 { comes.read(visits) } else { visits.into() };
            }
            if has_tile {
                let next = if join + 1 < joined {
                    task_number + 1
                } else {
                    (deal.next(base + tile) - base) * u64::from(joined)
                };
                cursor.tile = next + 1;
                let entry = queue[(cursor.entry + join) as usize];
                self.fill(rank, entry, (items, tile), pieces, task);
                task.awaits_ready = task.awaits_ready.filter(|&peer| {
                    let (word, bit) = (&mut cursor.ready[peer as usize / 64], 1 << (peer % 64));
                    let known = *word & bit != 0;
                    *word |= bit;
                    !known
                });
                return true;
            }
            self.pass(rank, part, joined, cursor);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::RoutingSizes;
    use hpmoe_core::fixture::{Layer, moe_ffn};
    use hpmoe_core::schedule::{Choices, schedule_with};
    use std::collections::BTreeSet;

    /// Tests eight ranks with eight experts each and few tokens, so that a core has no piece of most pairs of a peer and an expert. Turns
    /// have room for all rows of a pair, or for one row.
    #[test]
    fn a_core_reads_the_entry_of_an_expert_once_and_then_those_of_peers_where_it_has_a_tile() {
        let checked = moe_ffn(&Layer { experts: 64, tokens: 16, put: 1, ..Layer::SMALL });
        let target = Target::ascend_a3();
        let top_k = checked.graph().sizes.top_k as u32;
        let routing = Routing::zipf(RoutingSizes { ranks: 8, experts: 64, top_k, tokens: 16 }, 0.5, 3);
        for choices in ["turn_rows=0", "turn_rows=40", "turn_rows=1"] {
            let schedule = schedule_with(&checked, &target, &Choices::read(choices).unwrap());
            let ours = Ours::new(&target, &checked, &schedule, &routing).unwrap();
            let (part, putting) =
                schedule.order(8).unwrap().parts.iter().find(|(_, role)| role.name == "communication").unwrap();
            let (queue, rows) = (&ours.order.queues[part], ours.order.sends.turn().unwrap_or(u32::MAX));
            let mut without = 0;
            for core in putting.first..putting.first + putting.count {
                let (mut cursor, mut task) = (Cursor::default(), QueuedTask::default());
                let (mut read, mut visited) = (0, BTreeSet::new());
                while ours.next(1, CoreKind::Aiv, core, &mut cursor, &mut task) {
                    read += task.entries;
                    visited.insert(cursor.entry);
                }
                read += task.entries;
                // Each visited pair of a peer and an expert is read in each of its turns.
                let turns = |&entry: &u32| ours.pieces(1, queue[entry as usize], rows).count();
                // Sends and returns have an entry for each expert.
                assert_eq!(read as usize, 2 * 8 + visited.iter().map(turns).sum::<usize>(), "{choices}, core {core}");
                without += 2 * 64 - visited.len();
            }
            assert!(without > 64 * putting.count as usize, "{choices}: {without}");
        }
    }
}
