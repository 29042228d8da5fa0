//! What chunks add to the same sums is added in their order.

use super::Violation;
use crate::schedule::{Entry, Schedule, chunk};
use hpmoe_language::analyze::CheckedGraph;

/// Of each phase that adds to what the caller keeps, one queue has all entries, chunk after chunk.
///
/// A tile of a matrix then has the same core in each chunk: experts are counted alike in all of them, and the tiles of one go
/// round as far. Cores make tiles in the order of their queues, and order what they write themselves.
pub(super) fn sums(checked: &CheckedGraph, schedule: &Schedule, found: &mut Vec<Violation>) {
    let graph = checked.graph();
    for order in &schedule.orders {
        for phase in graph.phases.ids().filter(|&phase| graph.adds_up(phase)) {
            let chunks = |queue: &Vec<Entry>| {
                let entries = queue.iter().filter(|entry| entry.phase == phase);
                entries.map(|&entry| chunk(graph, order.ranks, entry)).collect()
            };
            let mut queues = order.queues.iter().map(|(_, queue)| chunks(queue)).filter(|of: &Vec<u32>| !of.is_empty());
            if !queues.next().unwrap_or_default().is_sorted() || queues.next().is_some() {
                found.push(Violation::SumsOutOfOrder { ranks: order.ranks, phase });
            }
        }
    }
}
