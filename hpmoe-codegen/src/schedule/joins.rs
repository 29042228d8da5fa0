//! Which phases are walked together with the one before, tile by tile.

use super::tiling::Tiling;
use super::{Entry, Order};
use hpmoe_language::analyze::CheckedGraph;
use hpmoe_language::ids::{Arena, Id, PhaseId};
use std::collections::{BTreeMap, BTreeSet};

/// A phase joins the one before it where both cut the same space into the same tiles for the same cores, it needs nothing
/// that the other doesn't need, and neither needs the other, not by way of others either. Its entries move to those of the
/// phase before.
///
/// Gate and up projections then read a row tile one after the other, while it is in L2, and need rows half as fast as one
/// of them alone: what comes from other ranks has twice the time.
pub(super) fn joins(checked: &CheckedGraph, tiling: &Tiling<'_>, orders: &mut [Order]) -> Arena<PhaseId, bool> {
    let graph = checked.graph();
    let join = |second: PhaseId| {
        let Some(first) = second.index().checked_sub(1).map(PhaseId::new) else { return false };
        tiling.alike(graph, first, second)
            && needs(checked, second).is_subset(&needs(checked, first))
            && !depends(checked, first, second)
            && !depends(checked, second, first)
    };
    let joins: Arena<PhaseId, bool> = graph.phases.ids().map(join).collect();
    for order in orders {
        order.queues = order.queues.iter().map(|(_, queue)| together(queue, &joins)).collect();
    }
    joins
}

/// Each entry of a phase that joins another directly behind the one that it joins.
fn together(queue: &[Entry], joins: &Arena<PhaseId, bool>) -> Vec<Entry> {
    let head = |entry: Entry| {
        let steps = (0..=entry.phase.index()).rev().take_while(|&phase| joins[PhaseId::new(phase)]).count();
        Entry { phase: PhaseId::new(entry.phase.index() - steps), ..entry }
    };
    let mut behind: BTreeMap<Entry, Vec<Entry>> = BTreeMap::new();
    for &entry in queue.iter().filter(|entry| joins[entry.phase]) {
        behind.entry(head(entry)).or_default().push(entry);
    }
    let heads = queue.iter().copied().filter(|entry| !joins[entry.phase]);
    heads
        .flat_map(|entry| {
            let mut joined = behind.remove(&entry).unwrap_or_default();
            joined.sort_unstable();
            std::iter::once(entry).chain(joined)
        })
        .collect()
}

/// The phases that make what a phase reads.
fn needs(checked: &CheckedGraph, phase: PhaseId) -> BTreeSet<PhaseId> {
    checked.dependencies().iter().filter(|d| d.after == phase).map(|d| d.before).collect()
}

/// Whether a phase needs what another makes.
fn depends(checked: &CheckedGraph, first: PhaseId, second: PhaseId) -> bool {
    let mut open = vec![first];
    let mut seen = BTreeSet::new();
    while let Some(phase) = open.pop() {
        if phase == second {
            return true;
        }
        if seen.insert(phase) {
            open.extend(checked.dependencies().iter().filter(|d| d.before == phase).map(|d| d.after));
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use crate::schedule::{Cores, schedule};
    use hpmoe_language::fixture::{Layer, moe_ffn};

    #[test]
    fn up_joins_gate() {
        for layer in [Layer::SMALL, Layer::DEEPSEEK] {
            let schedule = schedule(&moe_ffn(&layer), Cores::ASCEND_A3);
            let joins: Vec<bool> = schedule.joins.iter().map(|(_, &joins)| joins).collect();
            assert_eq!(joins, [false, false, true, false, false, false, false]);
            for queue in schedule.orders.iter().flat_map(|order| order.queues.iter()).map(|(_, queue)| queue) {
                let ups = (0..queue.len()).filter(|&place| queue[place].phase.0 == 2);
                let gates = ups.map(|up| queue[up - 1]);
                assert!(gates.clone().all(|gate| gate.phase.0 == 1) && gates.count() * 3 <= queue.len());
            }
        }
    }
}
