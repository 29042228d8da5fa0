//! One order of all entries of all ranks, which rules out deadlock.

mod edges;

use super::Violation;
use crate::analyze::{CheckedGraph, Index};
use crate::schedule::Schedule;
use edges::{CounterUses, OrderGraph};
use hpmoe_kernels::route::ExpertOrders;

/// For each number of ranks, no entry comes before itself: not by its queue, not by a dependency, not by a wait.
///
/// Depending on run-time extents, any tile of one entry may have to wait for any tile of another; so entries are ordered as
/// wholes, and a counter is taken with all others of its expert, or of its array where it counts tokens. When such an
/// order exists, the first unfinished tile in it can always run: all that it waits for lies before it, and its core has
/// finished what its queue has before it. Inside an entry a core goes from lower to higher tile numbers and waits for
/// none of them. Entries that are walked together count as one.
///
/// An entry names an expert by its place in the order in which the expert's rank works on its experts. That order is known at
/// run time only, but it is the same for all ranks, so a place means the same expert to whoever sends, computes or counts.
/// Once-sent tokens are the exception: they are stored by the numbers of experts, so with them places must be numbers.
pub(super) fn total_order(checked: &CheckedGraph, schedule: &Schedule, violations: &mut Vec<Violation>) {
    let uses = CounterUses::new(checked, schedule);
    if schedule.expert_orders != ExpertOrders::Number
        && uses.waits.iter().any(|&(_, _, index)| index == Index::OnceTiles)
    {
        violations.push(Violation::OnceByLoad);
    }
    for order in &schedule.orders {
        // All ranks have the same queues with peers counted from the rank itself, so the graph over all ranks is a cover of
        // the graph in which every rank is the same one. A cycle over all ranks maps to a cycle there; and a cycle there,
        // gone round as often as there are ranks, comes back to the rank where it began. So either both have one or none.
        if let Some(entries) = OrderGraph::new(checked, schedule, order).cycle(&uses) {
            violations.push(Violation::Cycle { ranks: order.ranks, entries });
        }
    }
}

#[cfg(test)]
mod tests;
