//! Validates that chunks add to shared sums in the order of chunks.

use super::Violation;
use crate::analyze::CheckedGraph;
use crate::schedule::{Entry, Schedule, chunk};

/// Checks that all entries of a phase that adds to the caller's memory are in one queue, chunk by chunk.
///
/// A tile of a matrix then has the same core in each chunk, because experts are numbered alike in all chunks. A core makes tiles in the
/// order of its queue, and its own writes stay in that order.
pub(super) fn sums(checked: &CheckedGraph, schedule: &Schedule, violations: &mut Vec<Violation>) {
    let graph = checked.graph();
    for order in &schedule.orders {
        for phase in graph.phases.ids().filter(|&phase| graph.adds_up(phase)) {
            let chunks = |queue: &Vec<Entry>| {
                let entries = queue.iter().filter(|entry| entry.phase == phase);
                entries.map(|&entry| chunk(graph, order.ranks, entry)).collect()
            };
            let mut queues =
                order.queues.iter().map(|(_, queue)| chunks(queue)).filter(|chunks: &Vec<u32>| !chunks.is_empty());
            if !queues.next().unwrap_or_default().is_sorted() || queues.next().is_some() {
                violations.push(Violation::SumsOutOfOrder { ranks: order.ranks, phase });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Layer, sums as added};
    use crate::ids::{PartId, PhaseId};
    use crate::schedule::{Cores, schedule};
    use crate::validate::broken::broken_of;

    #[test]
    fn chunks_in_another_order_or_in_two_queues_are_found() {
        let checked = added(&Layer::TINY, 3);
        let graph = checked.graph();
        let phase = graph.phases.ids().find(|&phase| graph.adds_up(phase)).unwrap();
        let matrix = PartId(0);
        let of_phase = |queue: &[Entry], phase: PhaseId| queue.iter().position(|entry| entry.phase == phase).unwrap();
        assert_eq!(broken_of(&checked, sums, |_| ()), []);
        let ranks: Vec<u32> = schedule(&checked, Cores::ASCEND_A3).orders.iter().map(|order| order.ranks).collect();
        assert!(ranks.len() > 1);
        for (at, ranks) in ranks.into_iter().enumerate() {
            let found = broken_of(&checked, sums, |schedule| {
                let queue = &mut schedule.orders[at].queues[matrix];
                let last = queue.iter().rposition(|entry| entry.phase == phase).unwrap();
                let first = of_phase(queue, phase);
                queue.swap(first, last);
            });
            assert_eq!(found, [Violation::SumsOutOfOrder { ranks, phase }]);
            let found = broken_of(&checked, sums, |schedule| {
                let queues = &mut schedule.orders[at].queues;
                let first = of_phase(&queues[matrix], phase);
                let entry = queues[matrix].remove(first);
                queues.push(vec![entry]);
            });
            assert_eq!(found, [Violation::SumsOutOfOrder { ranks, phase }]);
        }
    }
}
