//! What chunks add to the same sums is added in the order of chunks.

use super::Violation;
use crate::schedule::{Entry, Schedule, chunk};
use hpmoe_language::analyze::CheckedGraph;

/// All entries of a phase that adds to what the caller keeps are in one queue, chunk after chunk.
///
/// A tile of a matrix then has the same core in each chunk: experts are counted alike in all of them, so that the tiles of
/// an expert are dealt to the same cores. A core makes tiles in the order of its queue, and orders its own writes.
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
