//! Which phases are walked together with the one before, tile by tile.

use super::tiling::same_tiles;
use super::{Entry, Order, PhaseSchedule};
use hpmoe_language::analyze::{CheckedGraph, Whose};
use hpmoe_language::ids::{Arena, Id, PhaseId};
use std::collections::{BTreeMap, BTreeSet};

/// Lets a phase join the one before it where both cut the same space into the same tiles for the same cores, and it needs
/// nothing that the other doesn't need, neither data nor memory: so it does not depend on the other. Its entries move next to those of
/// the previous phase.
///
/// Gate and up projections then read a row tile one after the other, while it is in L2, and need rows half as fast as one
/// of them alone: rows from other ranks have twice the time to arrive.
pub(super) fn joins(checked: &CheckedGraph, phases: &mut Arena<PhaseId, PhaseSchedule>, orders: &mut [Order]) {
    for second in checked.graph().phases.ids() {
        let Some(first) = second.index().checked_sub(1).map(PhaseId::new) else { continue };
        let apart = checked.graph().route.as_ref().is_some_and(|route| route.follows(first) != route.follows(second));
        phases[second].joins_previous = !apart
            && same_tiles(checked.graph(), phases, [first, second])
            && needs(checked, second).is_subset(&needs(checked, first))
            && waits_for_memory(checked, second).is_none_or(|whose| waits_for_memory(checked, first) == Some(whose));
    }
    for order in orders {
        order.queues = order.queues.iter().map(|(_, queue)| together(queue, phases)).collect();
    }
}

/// The queue with each entry of a joining phase directly after the entry that it joins.
fn together(queue: &[Entry], phases: &Arena<PhaseId, PhaseSchedule>) -> Vec<Entry> {
    let joins = |entry: &Entry| phases[entry.phase].joins_previous;
    let head = |entry: Entry| {
        let earlier = (0..=entry.phase.index()).rev().map(PhaseId::new);
        let steps = earlier.take_while(|&phase| phases[phase].joins_previous).count();
        Entry { phase: PhaseId::new(entry.phase.index() - steps), ..entry }
    };
    let mut joining: BTreeMap<Entry, Vec<Entry>> = BTreeMap::new();
    for &entry in queue.iter().filter(|entry| joins(entry)) {
        joining.entry(head(entry)).or_default().push(entry);
    }
    let heads = queue.iter().copied().filter(|entry| !joins(entry));
    heads
        .flat_map(|entry| {
            let mut joined = joining.remove(&entry).unwrap_or_default();
            joined.sort_unstable();
            std::iter::once(entry).chain(joined)
        })
        .collect()
}

/// The phases that make what a phase reads.
fn needs(checked: &CheckedGraph, phase: PhaseId) -> BTreeSet<PhaseId> {
    checked.dependencies().iter().filter(|d| d.after == phase).map(|d| d.before).collect()
}

/// On which rank a phase waits for the memory of an earlier chunk, if it does.
fn waits_for_memory(checked: &CheckedGraph, phase: PhaseId) -> Option<Whose> {
    checked.reuse().and_then(|reuse| reuse.waits[phase])
}

#[cfg(test)]
mod tests {
    use crate::schedule::{Cores, schedule};
    use hpmoe_language::fixture::{Layer, moe_ffn};

    #[test]
    fn up_joins_gate() {
        for layer in [Layer::SMALL, Layer::DEEPSEEK] {
            let schedule = schedule(&moe_ffn(&layer), Cores::ASCEND_A3);
            let joins: Vec<bool> = schedule.phases.iter().map(|(_, phase)| phase.joins_previous).collect();
            assert_eq!(joins, [false, false, true, false, false, false, false]);
            for queue in schedule.orders.iter().flat_map(|order| order.queues.iter()).map(|(_, queue)| queue) {
                let ups = (0..queue.len()).filter(|&place| queue[place].phase.0 == 2);
                let gates = ups.map(|up| queue[up - 1]);
                assert!(gates.clone().all(|gate| gate.phase.0 == 1) && gates.count() * 3 <= queue.len());
            }
        }
    }
}
