//! Phases that are walked together have the same tiles on the same cores.

use super::Violation;
use super::same_core::same_map;
use crate::schedule::{Entry, Schedule};
use hpmoe_language::analyze::CheckedGraph;
use hpmoe_language::ids::{Id, PhaseId};

/// A phase that joins the one before it has the same tiles on the same cores, and its entry of each group follows that of the
/// phase before.
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
    use crate::validate::broken::broken;
    use hpmoe_language::ids::PartId;

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
            let found = broken(joins, |schedule| {
                let queue = &mut schedule.orders[at].queues[PartId(0)];
                let up = queue.iter().position(|entry| entry.phase == PhaseId(2)).unwrap();
                queue.swap(up, up + 1);
            });
            assert_eq!(found, [Violation::Joins { phase: PhaseId(2) }]);
            let found = broken(joins, |schedule| {
                let queue = &mut schedule.orders[at].queues[PartId(0)];
                assert_eq!((queue[0].phase, queue[1].phase), (PhaseId(1), PhaseId(2)));
                queue.remove(0);
            });
            assert_eq!(found, [Violation::Joins { phase: PhaseId(2) }], "nothing is before the first of a queue");
        }
    }

    #[test]
    fn tiles_that_go_to_other_cores_are_found() {
        let found = broken(joins, |schedule| schedule.phases[PhaseId(2)].band += 1);
        assert_eq!(found, [Violation::Joins { phase: PhaseId(2) }]);
    }
}
