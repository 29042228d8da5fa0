//! One order of all entries of all ranks, which rules out deadlock.

use super::Violation;
use crate::schedule::{Entry, Order, Schedule, chunk};
use hpmoe_language::analyze::{CheckedGraph, Index, Whose};
use hpmoe_language::graph::CHUNK_BUFFERS;
use hpmoe_language::ids::{CounterId, PhaseId};
use std::collections::{BTreeMap, BTreeSet};

/// Most entries, over all ranks, for which each rank is looked at by itself.
const EACH_RANK: usize = 1 << 14;

/// For each number of ranks, no entry comes before itself: not by its queue, not by a dependency, not by a wait.
///
/// Any tile of one entry may have to wait for any tile of another, as extents will have it; so entries are ordered as
/// wholes, and a counter is taken with all others of its expert, or of its array where it counts tokens. When such an
/// order exists, the first unfinished tile in it can always run: all it waits for lies before it, and its core has
/// finished what its queue has before it. Inside an entry a core goes from lower to higher tile numbers and waits for
/// none of them. Entries that are walked together count as one. Experts are places in the order in which their rank works on
/// them, which is known at run time: all ranks know it, so that a place means the same expert to whoever sends, computes or
/// counts.
pub(super) fn total_order(checked: &CheckedGraph, schedule: &Schedule, found: &mut Vec<Violation>) {
    let links = Links::new(checked, schedule);
    // A place in the order of experts then says nothing about the experts whose tiles hold a once-sent token.
    if schedule.by_load && links.waits.iter().any(|&(_, _, index)| index == Index::OnceTiles) {
        found.push(Violation::OnceByLoad);
    }
    for order in &schedule.orders {
        let entries: usize = order.queues.iter().map(|(_, queue)| queue.len()).sum();
        // All ranks have the same queues with peers counted from the own rank, so the graph over all ranks is a cover of
        // the graph in which every rank is the same one. A cycle over all ranks maps to a cycle there; and a cycle there,
        // gone round as often as there are ranks, comes back to the rank where it began. So either both have one or none.
        let copies = if entries * order.ranks as usize <= EACH_RANK { order.ranks } else { 1 };
        if let Some(entries) = cycle(checked, (schedule, &links), order, copies) {
            found.push(Violation::Cycle { ranks: order.ranks, entries });
        }
    }
}

/// Who signals and who awaits which array: by dependencies and by the schedule.
struct Links {
    signals: BTreeSet<(PhaseId, CounterId, Index, bool)>,
    waits: BTreeSet<(PhaseId, CounterId, Index)>,
}

impl Links {
    fn new(checked: &CheckedGraph, schedule: &Schedule) -> Self {
        let mut links = Self { signals: BTreeSet::new(), waits: BTreeSet::new() };
        for dependency in checked.dependencies() {
            let (signal, wait) = (&dependency.signal, &dependency.wait);
            links.signals.insert((dependency.before, signal.counter, signal.index, signal.remote));
            links.waits.insert((dependency.after, wait.counter, wait.index));
        }
        for (id, phase) in schedule.phases.iter() {
            links.signals.extend(phase.signals.iter().map(|s| (id, s.counter, s.index, s.remote)));
            links.waits.extend(phase.waits.iter().map(|wait| (id, wait.counter, wait.index)));
        }
        links
    }
}

/// Entries that come before themselves, if any, on that many ranks.
fn cycle(
    checked: &CheckedGraph,
    (schedule, links): (&Schedule, &Links),
    order: &Order,
    copies: u32,
) -> Option<Vec<(u32, Entry)>> {
    let entries: Vec<Entry> = order.queues.iter().flat_map(|(_, queue)| queue.iter().copied()).collect();
    let mut of_phase: BTreeMap<PhaseId, Vec<usize>> = BTreeMap::new();
    for (number, entry) in entries.iter().enumerate() {
        of_phase.entry(entry.phase).or_default().push(number);
    }
    let graph = checked.graph();
    let experts = graph.sizes.expert_chunks(order.ranks as usize);
    let counters = checked.counters().len() * experts;
    // Entries that are walked together are one.
    let mut heads: Vec<usize> = (0..entries.len()).collect();
    for number in 1..entries.len() {
        if schedule.phases[entries[number].phase].joins_previous {
            heads[number] = heads[number - 1];
        }
    }
    let entry_node = |rank: u32, number: usize| rank as usize * entries.len() + heads[number];
    let counter_node = |rank: u32, counter: CounterId, index, entry: Entry| {
        let of_chunk = || chunk(graph, order.ranks, entry) as usize;
        let group = if by_expert(index) { entry.expert as usize } else { of_chunk() };
        copies as usize * entries.len() + rank as usize * counters + counter.0 as usize * experts + group
    };
    // A node for each chunk of each rank: its rows are read no more.
    let chunks = graph.sizes.chunks;
    let free_node =
        |rank: u32, chunk: usize| copies as usize * (entries.len() + counters) + rank as usize * chunks + chunk;
    let mut next: Vec<Vec<usize>> = vec![Vec::new(); copies as usize * (entries.len() + counters + chunks)];
    for rank in 0..copies {
        let mut number = 0;
        for (_, queue) in order.queues.iter() {
            for place in 0..queue.len() {
                if place > 0 && heads[number] == number {
                    next[entry_node(rank, number - 1)].push(entry_node(rank, number));
                }
                number += 1;
            }
        }
        for (number, &entry) in entries.iter().enumerate() {
            let Some(reuse) = checked.reuse() else { break };
            let of_chunk = chunk(graph, order.ranks, entry) as usize;
            if entry.phase == reuse.frees {
                next[entry_node(rank, number)].push(free_node(rank, of_chunk));
            }
            if let (Some(whose), Some(before)) = (reuse.waits[entry.phase], of_chunk.checked_sub(CHUNK_BUFFERS)) {
                let at = if whose == Whose::Peer { (rank + entry.peer_offset) % copies } else { rank };
                next[free_node(at, before)].push(entry_node(rank, number));
            }
        }
        for &(phase, counter, index, remote) in &links.signals {
            for &number in of_phase.get(&phase).into_iter().flatten() {
                let entry = entries[number];
                let at = if remote { (rank + entry.peer_offset) % copies } else { rank };
                next[entry_node(rank, number)].push(counter_node(at, counter, index, entry));
            }
        }
        for &(_, counter, index) in links.waits.iter().filter(|wait| wait.2 == Index::OnceTiles) {
            // A tile may be of any expert up to the own: those up to the one before, and its own.
            let of = |expert: usize| {
                let entry = Entry { phase: PhaseId(0), expert: expert as u32, peer_offset: 0 };
                counter_node(rank, counter, index, entry)
            };
            (1..experts).for_each(|expert| next[of(expert - 1)].push(of(expert)));
        }
        for &(phase, counter, index) in &links.waits {
            for &number in of_phase.get(&phase).into_iter().flatten() {
                next[counter_node(rank, counter, index, entries[number])].push(entry_node(rank, number));
            }
        }
    }
    let nodes = circle(&next)?;
    let entry = |node: usize| ((node / entries.len()) as u32, entries[node % entries.len()]);
    let nodes = nodes.into_iter().filter(|&node| node < copies as usize * entries.len());
    Some(nodes.map(entry).collect())
}

/// Whether the counters that an index addresses are those of one expert.
fn by_expert(index: Index) -> bool {
    match index {
        Index::RowTile | Index::Tile | Index::Expert | Index::OnceTiles => true,
        Index::Block | Index::PieceBlocks | Index::Rank => false,
    }
}

/// Nodes along a cycle, if there is one.
fn circle(next: &[Vec<usize>]) -> Option<Vec<usize>> {
    let mut before = vec![0; next.len()];
    for &node in next.iter().flatten() {
        before[node] += 1;
    }
    let mut free: Vec<usize> = (0..next.len()).filter(|&node| before[node] == 0).collect();
    let mut left = next.len();
    while let Some(node) = free.pop() {
        left -= 1;
        for &node in &next[node] {
            before[node] -= 1;
            if before[node] == 0 {
                free.push(node);
            }
        }
    }
    if left == 0 {
        return None;
    }
    // Each node that is left has one before it that is left too: go back until one comes again.
    let mut back = vec![usize::MAX; next.len()];
    for (from, nodes) in next.iter().enumerate().filter(|&(from, _)| before[from] > 0) {
        for &node in nodes {
            back[node] = from;
        }
    }
    let mut seen = vec![false; next.len()];
    let mut node = (0..next.len()).find(|&node| before[node] > 0)?;
    while !std::mem::replace(&mut seen[node], true) {
        node = back[node];
    }
    let mut circle = vec![node];
    let mut at = back[node];
    while at != node {
        circle.push(at);
        at = back[at];
    }
    circle.reverse();
    Some(circle)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::{Choices, Cores, schedule, schedule_with};
    use crate::target::Target;
    use hpmoe_language::fixture::{Layer, moe_ffn};
    use hpmoe_language::ids::{Id, PartId};
    use proptest::prelude::*;

    #[test]
    fn a_right_schedule_passes() {
        let checked = moe_ffn(&Layer::DEEPSEEK);
        let mut found = Vec::new();
        total_order(&checked, &schedule(&checked, Cores::ASCEND_A3), &mut found);
        assert_eq!(found, []);
    }

    #[test]
    fn a_consumer_before_its_producer_is_a_cycle() {
        let checked = moe_ffn(&Layer::SMALL);
        let mut schedule = schedule(&checked, Cores::ASCEND_A3);
        let queue = &mut schedule.orders[2].queues[PartId::new(0)];
        let down = queue.iter().position(|entry| entry.phase == PhaseId(4)).unwrap();
        let entry = queue.remove(down);
        queue.insert(0, entry);
        let mut found = Vec::new();
        total_order(&checked, &schedule, &mut found);
        let [Violation::Cycle { ranks: 4, entries }] = &found[..] else { panic!("{found:?}") };
        assert!(entries.iter().any(|(_, of)| *of == entry));
        let phases: BTreeSet<PhaseId> = entries.iter().map(|(_, entry)| entry.phase).collect();
        assert!(phases.contains(&PhaseId(3)), "the way back leads over the activation: {entries:?}");
    }

    #[test]
    fn peers_that_wait_for_one_another_are_a_cycle() {
        // Each rank would put results back before it sends what its peer makes them from.
        let checked = moe_ffn(&Layer::TINY);
        let together = Choices::read("peer_cores=shared return_cores=sending").unwrap();
        let mut schedule = schedule_with(&checked, &Target::ascend_a3(), &together);
        let queue = &mut schedule.orders[1].queues[PartId::new(1)];
        let back = queue.iter().position(|entry| entry.phase == PhaseId(5) && entry.peer_offset == 1).unwrap();
        let entry = queue.remove(back);
        queue.insert(0, entry);
        let mut found = Vec::new();
        total_order(&checked, &schedule, &mut found);
        assert!(matches!(found[..], [Violation::Cycle { ranks: 2, .. }]), "{found:?}");
    }

    proptest! {
        /// What the comment in `total_order` argues.
        #[test]
        fn one_rank_stands_for_all(swaps in prop::collection::vec((0usize..3, 0usize..64, 0usize..64), 0..4)) {
            let checked = moe_ffn(&Layer::TINY);
            let mut schedule = schedule(&checked, Cores::ASCEND_A3);
            for order in &mut schedule.orders {
                for &(role, a, b) in &swaps {
                    let queue = &mut order.queues[PartId::new(role)];
                    let (a, b) = (a % queue.len(), b % queue.len());
                    queue.swap(a, b);
                }
            }
            let links = Links::new(&checked, &schedule);
            for order in &schedule.orders {
                let one = cycle(&checked, (&schedule, &links), order, 1);
                let all = cycle(&checked, (&schedule, &links), order, order.ranks);
                prop_assert_eq!(one.is_some(), all.is_some());
            }
        }
    }
}
