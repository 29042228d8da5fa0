//! Checks that phases that are walked together have the same tiles on the same cores.

use super::Violation;
use super::same_core::same_map;
use crate::analyze::CheckedGraph;
use crate::ids::{Id, PhaseId};
use crate::schedule::{Entry, Schedule};

/// Checks each phase that joins the previous one: both must have the same tiles on the same cores, and in each group, its entry must
/// directly follow that of the previous phase.
pub(super) fn joins(checked: &CheckedGraph, schedule: &Schedule, violations: &mut Vec<Violation>) {
    let graph = checked.graph();
    for (second, _) in schedule.phases.iter().filter(|(_, phase)| phase.joins_previous) {
        let Some(first) = second.index().checked_sub(1).map(PhaseId::new) else {
            violations.push(Violation::Joins { phase: second });
            continue;
        };
        let alike = same_map(graph, schedule, (first, &graph.phases[first]), (second, &graph.phases[second]));
        let follows = |queue: &Vec<Entry>| {
            (0..queue.len())
                .filter(|&place| queue[place].phase == second)
                .all(|place| place > 0 && queue[place - 1] == Entry { phase: first, ..queue[place] })
        };
        let mut queues = schedule.orders.iter().flat_map(|order| order.queues.iter());
        if !alike || !queues.all(|(_, queue)| follows(queue)) {
            violations.push(Violation::Joins { phase: second });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Layer, chunked};
    use crate::graph::SpaceKind;
    use crate::ids::PartId;
    use crate::validate::broken::{broken, broken_of};

    #[test]
    fn a_right_schedule_passes() {
        assert_eq!(broken(joins, |_| ()), []);
    }

    #[test]
    fn other_tiles_and_other_places_are_found() {
        assert_eq!(
            broken(joins, |schedule| schedule.phases[PhaseId(4)].joins_previous = true),
            [Violation::Joins { phase: PhaseId(4) }]
        );
        assert_eq!(
            broken(joins, |schedule| schedule.phases[PhaseId(0)].joins_previous = true),
            [Violation::Joins { phase: PhaseId(0) }]
        );
        for at in 0..2 {
            for of_last in [false, true] {
                let found = broken(joins, |schedule| {
                    let queue = &mut schedule.orders[at].queues[PartId(0)];
                    let mut ups = (0..queue.len()).filter(|&place| queue[place].phase == PhaseId(2));
                    let up = if of_last { ups.next_back() } else { ups.next() }.unwrap();
                    queue.swap(up, up + 1);
                });
                assert_eq!(found, [Violation::Joins { phase: PhaseId(2) }]);
            }
            let found = broken(joins, |schedule| {
                let queue = &mut schedule.orders[at].queues[PartId(0)];
                let [up, next] = [0, 1].map(|n| queue.iter().enumerate().filter(|(_, e)| e.phase == PhaseId(2)).nth(n));
                let (up, next) = (up.unwrap().0, next.unwrap().0);
                queue.swap(up, next);
            });
            assert_eq!(found, [Violation::Joins { phase: PhaseId(2) }], "each follows an entry of another expert");
            let found = broken(joins, |schedule| {
                let queue = &mut schedule.orders[at].queues[PartId(0)];
                assert_eq!((queue[0].phase, queue[1].phase), (PhaseId(1), PhaseId(2)));
                queue.remove(0);
            });
            assert_eq!(found, [Violation::Joins { phase: PhaseId(2) }], "nothing is before the first of a queue");
        }
    }

    /// A core walks joined entries as one, with the peer of the first.
    #[test]
    fn puts_to_another_peer_are_found() {
        let checked = chunked(&Layer::TINY, 2);
        let graph = checked.graph();
        let sends = graph.spaces.position(|space| space.kind == SpaceKind::Sends).unwrap();
        let [first, second] = [0, 1].map(PhaseId);
        let checked = checked.changed(|graph| {
            (graph.phases[first].space, graph.phases[second].space) = (sends, sends);
            graph.phases[first].ranges = graph.phases[second].ranges.clone();
        });
        let found = |turned: bool| {
            broken_of(&checked, joins, |schedule| {
                schedule.phases[first] = schedule.phases[second].clone();
                schedule.phases[second].joins_previous = true;
                for order in &mut schedule.orders {
                    let ranks = order.ranks;
                    let pair = |expert, peer_offset| {
                        let other = if turned { (peer_offset + 1) % ranks } else { peer_offset };
                        [
                            Entry { phase: first, expert, peer_offset },
                            Entry { phase: second, expert, peer_offset: other },
                        ]
                    };
                    let all = (0..8 / ranks).flat_map(|expert| (0..ranks).map(move |peer| (expert, peer)));
                    order.queues[PartId(0)] = all.flat_map(|(expert, peer)| pair(expert, peer)).collect();
                    order
                        .queues
                        .ids()
                        .skip(1)
                        .collect::<Vec<_>>()
                        .into_iter()
                        .for_each(|part| order.queues[part].clear());
                }
            })
        };
        assert_eq!(found(false), []);
        assert_eq!(found(true), [Violation::Joins { phase: second }]);
    }

    #[test]
    fn tiles_that_go_to_other_cores_are_found() {
        let found = broken(joins, |schedule| schedule.phases[PhaseId(2)].band += 1);
        assert_eq!(found, [Violation::Joins { phase: PhaseId(2) }]);
    }
}
