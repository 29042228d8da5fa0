//! The position of the route in each queue, if the kernel makes the route from ids that its own phases write.

use super::{CoreKind, Entry, Order, PhaseSchedule};
use crate::analyze::{CheckedGraph, Wait};
use crate::collections::IdSet;
use crate::graph::MadeRoute;
use crate::ids::{Arena, PhaseId};

/// Places the route in each queue, adds the signals of its ids to phases, and returns the route's wait. Does nothing if the host makes
/// the route.
///
/// Vector cores make the tables as soon as they have made ids; other entries that need no route come later, so that other cores of the
/// group wait only for ids. Matrix cores wait for the tables as late as possible: before their first entry that needs one.
pub(super) fn route(
    checked: &CheckedGraph,
    phases: &mut Arena<PhaseId, PhaseSchedule>,
    orders: &mut [Order],
) -> Option<Wait> {
    let made = checked.graph().route.as_ref()?;
    let making = making_ids(checked);
    for order in orders {
        let place = |(part, queue): (_, &Vec<Entry>)| match order.parts[part].kind {
            CoreKind::Aiv => after_ids(queue, &making, phases),
            CoreKind::Aic => before_rows(queue, made),
        };
        order.routed_at = Some(order.queues.iter().map(|each| place(each) as u32).collect());
    }
    let input = checked.route_input()?;
    for &(phase, signal) in &input.signals {
        let signals = &mut phases[phase].signals;
        if !signals.contains(&signal) {
            signals.push(signal);
        }
    }
    Some(input.wait.clone())
}

/// Moves the entries that make ids to the front of a queue, because all ranks wait for the ids of the slowest rank. These entries depend on
/// none of the entries that they overtake.
pub(super) fn ids_first(checked: &CheckedGraph, queue: &mut [Entry]) {
    let making = making_ids(checked);
    let (first, rest): (Vec<Entry>, Vec<Entry>) = queue.iter().partition(|entry| making.contains(entry.phase));
    queue.copy_from_slice(&[first, rest].concat());
}

/// The phases that write ids, and all phases that these depend on.
fn making_ids(checked: &CheckedGraph) -> IdSet<PhaseId> {
    let mut making = IdSet::new();
    let mut open: Vec<PhaseId> =
        checked.route_input().into_iter().flat_map(|input| &input.signals).map(|s| s.0).collect();
    while let Some(phase) = open.pop() {
        if making.insert(phase) {
            open.extend(checked.dependencies().iter().filter(|d| d.after == phase).map(|d| d.before));
        }
    }
    making
}

/// The position in the queue after the last entry that makes ids, and after all entries that are walked together with it.
fn after_ids(queue: &[Entry], making: &IdSet<PhaseId>, phases: &Arena<PhaseId, PhaseSchedule>) -> usize {
    let last = queue.iter().rposition(|entry| making.contains(entry.phase));
    let after = last.map_or(0, |last| last + 1);
    after + queue[after..].iter().take_while(|entry| phases[entry.phase].joins_previous).count()
}

/// The position in the queue before the first entry that needs the route's tables.
fn before_rows(queue: &[Entry], made: &MadeRoute) -> usize {
    queue.iter().position(|entry| !made.follows(entry.phase)).unwrap_or(queue.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Layer, moe_ffn, router};
    use crate::schedule::{Cores, schedule};

    const SCORE: PhaseId = PhaseId(1);
    const CHOOSE: PhaseId = PhaseId(2);

    #[test]
    fn ids_are_made_by_what_writes_them_and_by_what_that_needs() {
        let making = |checked: &CheckedGraph| making_ids(checked).iter().collect::<Vec<_>>();
        assert_eq!(making(&router(&Layer::SMALL)), [SCORE, CHOOSE]);
        assert_eq!(making(&moe_ffn(&Layer::SMALL)), []);
    }

    #[test]
    fn what_makes_ids_comes_first_and_all_else_as_it_was() {
        let checked = router(&Layer::SMALL);
        let entry = |phase: u32, expert: u32| Entry { phase: PhaseId(phase), expert, peer_offset: 0 };
        let mut queue = [entry(5, 1), entry(1, 0), entry(4, 0), entry(2, 0), entry(3, 1), entry(0, 0)];
        ids_first(&checked, &mut queue);
        assert_eq!(queue, [entry(1, 0), entry(2, 0), entry(5, 1), entry(4, 0), entry(3, 1), entry(0, 0)]);
    }

    #[test]
    fn what_is_walked_together_with_the_last_of_what_makes_ids_comes_before_the_route_too() {
        let checked = router(&Layer::SMALL);
        let (making, made) = (making_ids(&checked), schedule(&checked, Cores::ASCEND_A3));
        let entry = |phase: u32| Entry { phase: PhaseId(phase), expert: 0, peer_offset: 0 };
        let queue = [2, 3, 4, 5].map(entry);
        let after = |joins: &[u32], queue: &[Entry]| {
            let mut phases = made.phases.clone();
            phases
                .ids()
                .collect::<Vec<_>>()
                .into_iter()
                .for_each(|id| phases[id].joins_previous = joins.contains(&id.0));
            after_ids(queue, &making, &phases)
        };
        assert_eq!(
            [after(&[], &queue), after(&[3], &queue), after(&[3, 4], &queue), after(&[4], &queue)],
            [1, 2, 3, 1]
        );
        assert_eq!(after(&[3, 4, 5], &queue), queue.len());
        // The cores of a queue without entries that make ids make the tables at once.
        assert_eq!(after(&[4], &queue[1..]), 0);
    }
}
