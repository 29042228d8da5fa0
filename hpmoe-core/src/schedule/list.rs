//! The list scheduler: of the entries that are ready, the most urgent one runs next.

use super::ahead::ahead;
use super::cost::EntryCosts;
use super::groups::Groups;
use super::parts::Parts;
use super::precedence::Precedence;
use super::priority::priorities;
use super::route::ids_first;
use super::sequence::sequences;
use super::turns::shared;
use super::{Choices, CoreKind, Entry, Order, Role};
use crate::analyze::CheckedGraph;
use crate::graph::{CHUNK_BUFFERS, SpaceKind};
use crate::ids::{Arena, PartId, PhaseId, RoleId};
use crate::units::Nanos;
use hpmoe_kernels::op::TaskKind;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Orders the entries of each part for a number of ranks, along one modelled timeline per part.
///
/// Entries on a cycle, which no order can satisfy, are put at the end of their queue in program order.
pub(super) fn list(
    checked: &CheckedGraph,
    costs: &EntryCosts,
    choices: &Choices,
    roles: &Arena<RoleId, Role>,
    role_of: &Arena<PhaseId, RoleId>,
    (ranks, by_arrival): (u32, &Arena<PhaseId, bool>),
) -> Order {
    let graph = checked.graph();
    let groups = Groups::new(graph, ranks);
    let precedence = Precedence::new(checked, &groups, ranks, Some(role_of));
    let entries: Vec<Entry> = groups.all().collect();
    let parts = Parts::new(graph, roles, role_of, ranks, choices);
    let sends = parts.dedicated.unwrap_or_else(|| shared(graph, choices, ranks, by_arrival));
    let cores = roles.iter().filter(|(_, role)| role.kind == CoreKind::Aic).map(|(_, role)| role.count).sum();
    let time = |&entry: &Entry| costs.entry_time(graph, &parts.parts[parts.part_of(entry)], ranks, entry.phase);
    let share = |entry: Entry| costs.entry_share(graph, &parts.parts[parts.part_of(entry)], ranks, entry.phase);
    let times: Vec<Nanos> = entries.iter().map(time).collect();
    let priorities = priorities(checked, &groups, &precedence, role_of, &times, costs.visible);

    let (ahead, classes) = (ahead(graph, costs, choices, ranks, cores), classes(checked, role_of));
    let urgency = |number: usize| {
        let entry = entries[number];
        classes[entry.phase].urgency(entry, priorities[number], ranks, ahead)
    };
    let of_matrix = |number: usize| {
        let part = parts.part_of(entries[number]);
        (parts.parts[part].kind == CoreKind::Aic).then_some(part)
    };
    let sequences = sequences(&precedence, parts.parts.ids(), of_matrix, urgency);
    let state = |(part, sequence): (PartId, &VecDeque<usize>)| PartState {
        sequence: (parts.parts[part].kind == CoreKind::Aic).then(|| sequence.clone()),
        ..PartState::default()
    };
    let mut scheduler = ListScheduler {
        incoming: precedence.incoming(),
        ready: vec![Nanos(0); precedence.len()],
        states: sequences.iter().map(state).collect(),
        precedence: &precedence,
        entries: &entries,
        parts: &parts,
        urgency: &urgency,
        visible: costs.visible,
    };
    let free = (0..precedence.len()).filter(|&node| scheduler.incoming[node] == 0);
    for node in free.collect::<Vec<_>>() {
        scheduler.release(node);
    }
    let mut queues: Arena<PartId, Vec<Entry>> = parts.parts.ids().map(|_| Vec::new()).collect();
    let mut placed = vec![false; entries.len()];
    while let Some((part, start)) = scheduler.next_start() {
        let number = scheduler.take(part, start);
        queues[part].push(entries[number]);
        placed[number] = true;
        scheduler.finish(number, start + times[number]);
        // If there are fewer tiles than cores, cores without one continue with the next entry.
        scheduler.states[part].free = start + share(entries[number]);
    }
    for (number, &entry) in entries.iter().enumerate() {
        if !placed[number] {
            queues[parts.part_of(entry)].push(entry);
        }
    }
    for part in parts.parts.ids() {
        ids_first(checked, &mut queues[part]);
    }
    Order { ranks, parts: parts.parts, queues, sends, routed_at: None }
}

/// The urgency of an entry: among ready entries, the one with the highest urgency runs first.
///
/// Rows are sent before results are put back: products wait for rows, and only the end of the layer waits for results. Cores that put walk
/// their entries in order, so a result that is ready later than modelled would delay the rows behind it. If rows wait for the
/// memory of earlier chunks, results that are ready go first, since they free that memory. Entries that compute run expert by
/// expert, so that results return throughout the launch. Otherwise, the links would be full at its end, and the matrix cores idle. Among
/// entries that put in the same direction, those that the most work waits for come first.
type Urgency = (u8, Reverse<u32>, Nanos, Reverse<(u32, u32, PhaseId)>);

/// The class of an entry, which decides how its urgency is computed.
#[derive(Clone, Copy)]
enum EntryClass {
    /// Computes. The number says how often the work has moved to another role between received rows and this entry.
    Computes(u32),
    /// Puts rows to the owners of their experts.
    Sends,
    /// Like `Sends`, in a launch in which rows also wait until the results of an earlier chunk are back, which frees its memory.
    SendsLater,
    /// Puts results back to the ranks that their tokens belong to.
    PutsBack,
}

impl EntryClass {
    fn urgency(self, entry: Entry, priority: Nanos, ranks: u32, ahead: u32) -> Urgency {
        let Entry { phase, expert, peer_offset } = entry;
        // A rank walks row tiles from its own rows on, so it needs the rows of the next rank next, and can put that rank's results back
        // next. A tile that it shares with the previous rank is computed last, so its own rows return last.
        let far = match self {
            Self::Sends | Self::SendsLater => (ranks - peer_offset) % ranks,
            Self::PutsBack => (peer_offset + ranks - 1) % ranks,
            Self::Computes(_) => peer_offset,
        };
        let (kind, round) = match self {
            // When the work of an expert returns to a role, entries of the next experts go first, so the role never waits for the other
            // one.
            Self::Computes(changes) => (0, expert + changes / 2 * ahead),
            // All data sent with the rows of an expert are needed at the same time as the rows.
            Self::Sends => (3, expert),
            // If cores both compute and put results back, links begin to work early.
            Self::PutsBack => (2, 0),
            Self::SendsLater => (1, expert),
        };
        (kind, Reverse(round), priority, Reverse((expert, far, phase)))
    }
}

fn classes(checked: &CheckedGraph, role_of: &Arena<PhaseId, RoleId>) -> Arena<PhaseId, EntryClass> {
    let graph = checked.graph();
    let mut classes: Arena<PhaseId, EntryClass> = Arena::new();
    for (id, phase) in graph.phases.iter() {
        let before = checked.dependencies().iter().filter(|d| d.after == id && d.before < id);
        let changes = before.map(|d| match classes[d.before] {
            EntryClass::Computes(changes) => changes + u32::from(role_of[d.before] != role_of[id]),
            EntryClass::Sends | EntryClass::SendsLater | EntryClass::PutsBack => 0,
        });
        classes.push(match (graph.tasks[phase.task].kind, graph.spaces[phase.space].kind) {
            (TaskKind::Put, SpaceKind::Sends | SpaceKind::SendsOnce) if graph.sizes.chunks > CHUNK_BUFFERS => {
                EntryClass::SendsLater
            }
            (TaskKind::Put, SpaceKind::Sends | SpaceKind::SendsOnce) => EntryClass::Sends,
            (TaskKind::Put, SpaceKind::Arrivals) => EntryClass::PutsBack,
            _ => EntryClass::Computes(changes.max().unwrap_or(0)),
        });
    }
    classes
}

/// The entries of one part that are still to be placed, and the time at which its cores are free.
#[derive(Default)]
struct PartState {
    /// The time at which the part's cores are free for the next entry, on average.
    free: Nanos,
    /// Entries whose predecessors are placed, by the time at which they become ready.
    pending: BinaryHeap<Reverse<(Nanos, usize)>>,
    /// Entries that are ready now, the most urgent one on top.
    ready: BinaryHeap<(Urgency, usize)>,
    /// Remaining entries of a part of matrix cores, in the order in which they run; `None` for other parts.
    sequence: Option<VecDeque<usize>>,
}

struct ListScheduler<'a> {
    incoming: Vec<u32>,
    /// For each node, the latest time at which a predecessor has released it so far.
    ready: Vec<Nanos>,
    states: Arena<PartId, PartState>,
    precedence: &'a Precedence,
    entries: &'a [Entry],
    parts: &'a Parts,
    urgency: &'a dyn Fn(usize) -> Urgency,
    visible: Nanos,
}

impl ListScheduler<'_> {
    /// The part that can begin an entry first, with the time; `None` if no part can.
    fn next_start(&self) -> Option<(PartId, Nanos)> {
        let starts = self.states.iter().filter_map(|(part, state)| {
            if let Some(sequence) = &state.sequence {
                let &next = sequence.front().filter(|&&next| self.incoming[next] == 0)?;
                return Some((part, state.free.max(self.ready[next])));
            }
            let start = match (state.ready.is_empty(), state.pending.peek()) {
                (false, _) => state.free,
                (true, Some(&Reverse((ready, _)))) => state.free.max(ready),
                (true, None) => return None,
            };
            Some((part, start))
        });
        starts.min_by_key(|&(part, start)| (start, part))
    }

    /// Removes and returns the most urgent entry of a part that is ready at `now`.
    fn take(&mut self, part: PartId, now: Nanos) -> usize {
        let state = &mut self.states[part];
        if let Some(sequence) = &mut state.sequence {
            return sequence.pop_front().expect("a part begins only when its next entry is ready");
        }
        while let Some(&Reverse((ready, number))) = state.pending.peek() {
            if ready > now {
                break;
            }
            state.pending.pop();
            state.ready.push(((self.urgency)(number), number));
        }
        let (_, number) = state.ready.pop().expect("a part begins only when an entry is ready");
        number
    }

    /// Releases the nodes that wait for an entry. Data become visible a moment after its end; program order holds at once.
    fn finish(&mut self, number: usize, end: Nanos) {
        let precedence = self.precedence;
        for next in precedence.successors(number) {
            let data = next < precedence.first_order;
            self.pass(next, if data { end + self.visible } else { end });
        }
    }

    fn pass(&mut self, node: usize, time: Nanos) {
        self.ready[node] = self.ready[node].max(time);
        self.incoming[node] -= 1;
        if self.incoming[node] == 0 {
            self.release(node);
        }
    }

    fn release(&mut self, node: usize) {
        let time = self.ready[node];
        if node < self.entries.len() {
            // A part with a sequence ignores the order in which entries become ready.
            self.states[self.parts.part_of(self.entries[node])].pending.push(Reverse((time, node)));
            return;
        }
        let precedence = self.precedence;
        for next in precedence.successors(node) {
            self.pass(next, time);
        }
    }
}

#[cfg(test)]
mod tests;
