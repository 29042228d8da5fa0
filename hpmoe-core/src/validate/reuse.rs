//! Checks that words free the memory of chunks in the order of chunks.

use super::Violation;
use crate::analyze::CheckedGraph;
use crate::schedule::{Entry, Schedule};

/// If chunks reuse memory, checks that a phase frees it, and that one queue has all words of a rank in order.
/// [`derive`](super::derive::derive) checks that uses of the memory come before one word and after the other.
pub(super) fn reuse(checked: &CheckedGraph, schedule: &Schedule, violations: &mut Vec<Violation>) {
    let graph = checked.graph();
    if !graph.sizes.reuses() {
        return;
    }
    let Some(reuse) = checked.reuse() else {
        violations.push(Violation::NoWord);
        return;
    };
    for order in &schedule.orders {
        let told =
            |queue: &Vec<Entry>| queue.iter().filter(|entry| entry.phase == reuse.frees).map(|e| e.expert).collect();
        let mut queues = order.queues.iter().map(|(_, queue)| told(queue)).filter(|told: &Vec<u32>| !told.is_empty());
        let first = queues.next().unwrap_or_default();
        if !first.is_sorted() || queues.next().is_some() {
            violations.push(Violation::WordsOutOfOrder { ranks: order.ranks });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Layer, chunked};
    use crate::ids::PartId;
    use crate::schedule::{Cores, schedule};
    use crate::validate::broken::broken_of;

    #[test]
    fn chunks_whose_memory_nobody_frees_are_found() {
        let mut checked = chunked(&Layer::TINY, 3);
        assert_eq!(broken_of(&checked, reuse, |_| ()), []);
        *checked.reuse_mut() = None;
        let mut violations = Vec::new();
        reuse(&checked, &schedule(&chunked(&Layer::TINY, 3), Cores::ASCEND_A3), &mut violations);
        assert_eq!(violations, [Violation::NoWord]);
        let checked = chunked(&Layer::TINY, 2);
        assert!(checked.reuse().is_none(), "two chunks have memory of their own");
        assert_eq!(broken_of(&checked, reuse, |_| ()), []);
    }

    /// The indices of a schedule's orders, with their numbers of ranks.
    fn orders(checked: &CheckedGraph) -> Vec<(usize, u32)> {
        let orders = schedule(checked, Cores::ASCEND_A3).orders;
        assert!(orders.len() > 1);
        orders.iter().map(|order| order.ranks).enumerate().collect()
    }

    #[test]
    fn words_in_another_order_are_found() {
        let checked = chunked(&Layer::TINY, 4);
        let frees = checked.reuse().unwrap().frees;
        for (at, ranks) in orders(&checked) {
            let found = broken_of(&checked, reuse, |schedule| {
                let queues = &mut schedule.orders[at].queues;
                let parts: Vec<PartId> = queues.ids().collect();
                for part in parts {
                    let queue = &mut queues[part];
                    let places: Vec<usize> = (0..queue.len()).filter(|&place| queue[place].phase == frees).collect();
                    if let [first, second, ..] = places[..] {
                        queue.swap(first, second);
                    }
                }
            });
            assert_eq!(found, [Violation::WordsOutOfOrder { ranks }]);
        }
    }

    #[test]
    fn words_in_two_queues_are_found() {
        let checked = chunked(&Layer::TINY, 4);
        let frees = checked.reuse().unwrap().frees;
        for (at, ranks) in orders(&checked) {
            let found = broken_of(&checked, reuse, |schedule| {
                let queues = &mut schedule.orders[at].queues;
                let has_words = |part: &PartId| queues[*part].iter().any(|entry| entry.phase == frees);
                let part = queues.ids().find(has_words).unwrap();
                let last = queues[part].iter().rposition(|entry| entry.phase == frees).unwrap();
                let word = queues[part].remove(last);
                queues.push(vec![word]);
            });
            assert_eq!(found, [Violation::WordsOutOfOrder { ranks }]);
        }
    }
}
