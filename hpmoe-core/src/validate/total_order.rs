//! A total order of all entries of all ranks, which rules out deadlock.

mod edges;

use super::Violation;
use crate::analyze::{CheckedGraph, Index};
use crate::schedule::Schedule;
use edges::{CounterUses, OrderGraph};
use hpmoe_kernels::route::ExpertOrders;

/// Checks, for each number of ranks, that no entry comes before itself by queues, dependencies and waits.
///
/// Depending on run-time extents, any tile of one entry may wait for any tile of another. Entries are therefore ordered
/// as a whole, and a counter stands for all counters of its expert, or of its array if it counts tokens. If such an
/// order exists, the first unfinished tile in it can always run: everything that it waits for comes before it, and its
/// core has finished all earlier entries of its queue. Inside an entry, a core goes from lower to higher tile numbers
/// and waits for none of them. Entries that are walked together count as one.
///
/// An entry names an expert by its position in the order in which the expert's rank works on its experts. That order is
/// known only at run time, but is the same for all ranks, so a position means the same expert to every rank that sends
/// to it, computes or counts it. Once-sent tokens are an exception: they are stored by expert number, so positions must
/// equal numbers.
pub(super) fn total_order(checked: &CheckedGraph, schedule: &Schedule, violations: &mut Vec<Violation>) {
    let uses = CounterUses::new(checked, schedule);
    if schedule.expert_orders != ExpertOrders::Number
        && uses.waits.iter().any(|&(_, _, index)| index == Index::OnceTiles)
    {
        violations.push(Violation::OnceByLoad);
    }
    for order in &schedule.orders {
        // All ranks have the same queues with peers relative to the rank, so the graph of all ranks is a covering of
        // the graph with a single representative rank. A cycle over all ranks maps to a cycle there. Conversely, a
        // cycle there, followed as many times as there are ranks, returns to the rank where it started. So either both
        // graphs have a cycle or neither has.
        if let Some(entries) = OrderGraph::new(checked, schedule, order).cycle(&uses) {
            violations.push(Violation::Cycle { ranks: order.ranks, entries });
        }
    }
}

#[cfg(test)]
mod tests;
