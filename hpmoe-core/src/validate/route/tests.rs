//! Routes that come too early, or don't wait for their ids, are refused.

use super::*;
use crate::analyze::Index;
use crate::fixture::{Layer, choosing, routed, router};
use crate::graph::Access;
use crate::ids::{PartId, SpaceId};
use crate::schedule::{CoreKind, Cores, schedule};
use crate::validate::broken::{broken, broken_of};
use crate::validate::validate;

#[test]
fn a_right_schedule_passes() {
    assert_eq!(broken_of(&routed(&Layer::SMALL), route, |_| ()), []);
    assert_eq!(broken(route, |_| ()), []);
}

#[test]
fn an_entry_before_the_tables_is_found() {
    for part in [0, 1, 2].map(PartId) {
        let found = broken_of(&routed(&Layer::SMALL), route, |schedule| {
            schedule.orders[1].routed_at.as_mut().unwrap()[part] = 1;
        });
        assert_eq!(found, [Violation::Unrouted { ranks: 2, part }]);
    }
}

/// After the route, cores continue in the queues of the number of chunks that they chose.
#[test]
fn queues_of_another_number_of_chunks_with_their_route_elsewhere_are_found() {
    let checked = choosing(&Layer::SMALL, 4);
    let made = schedule(&checked, Cores::ASCEND_A3);
    assert!(validate(&checked, made.clone()).is_ok());
    for part in made.chosen[1].orders[1].queues.ids() {
        let mut schedule = made.clone();
        schedule.chosen[1].orders[1].routed_at.as_mut().unwrap()[part] = 1;
        let found = validate(&checked, schedule).unwrap_err();
        assert!(found.contains(&Violation::Unrouted { ranks: 2, part }), "{found:?}");
    }
    let mut without = made;
    without.chosen[0].orders[0].routed_at = None;
    let found = validate(&checked, without).unwrap_err();
    assert!(found.contains(&Violation::Unrouted { ranks: 1, part: PartId(0) }), "{found:?}");
}

#[test]
fn tables_between_two_entries_that_are_walked_together_are_found() {
    let found = changed(|schedule| {
        let (at, queues) = (schedule.orders[1].routed_at.as_ref().unwrap(), &schedule.orders[1].queues);
        let mut next = queues.iter().filter_map(|(part, queue)| Some(queue.get(at[part] as usize)?.phase));
        let phase = next.find(|&phase| phase > CHOOSE).unwrap();
        schedule.phases[phase].joins_previous = true;
    });
    assert!(found.iter().any(|violation| matches!(violation, Violation::Unrouted { ranks: 2, .. })), "{found:?}");
}

#[test]
fn a_queue_without_the_tables_is_found() {
    let all = [0, 1, 2].map(|part| Violation::Unrouted { ranks: 1, part: PartId(part) });
    let found = broken_of(&routed(&Layer::SMALL), route, |schedule| schedule.orders[0].routed_at = None);
    assert_eq!(found, all);
    let found = broken_of(&routed(&Layer::SMALL), route, |schedule| {
        schedule.orders[0].routed_at = Some([0, 0].into_iter().collect());
    });
    assert_eq!(found, all);
}

/// The phases of the layer that chooses experts: squares that need no route, scores, the choice, and the phases that
/// need the route.
const SQUARE: PhaseId = PhaseId(0);
const SCORE: PhaseId = PhaseId(1);
const CHOOSE: PhaseId = PhaseId(2);
const DISPATCH: PhaseId = PhaseId(3);

/// The violations of that layer's schedule for two ranks, after a change.
fn changed(break_it: impl FnOnce(&mut Schedule)) -> Vec<Violation> {
    broken_of(&router(&Layer::SMALL), route, break_it)
}

fn kind(order: &Order, kind: CoreKind) -> impl Iterator<Item = PartId> {
    order.parts.iter().filter(move |(_, part)| part.kind == kind).map(|(id, _)| id)
}

#[test]
fn ids_come_first_and_matrix_cores_wait_for_tables_last() {
    let checked = router(&Layer::SMALL);
    let schedule = schedule(&checked, Cores::ASCEND_A3);
    for order in &schedule.orders {
        let at = order.routed_at.as_ref().unwrap();
        for (part, queue) in order.queues.iter() {
            let (before, after) = queue.split_at(at[part] as usize);
            assert!(before.iter().all(|entry| entry.phase <= CHOOSE) && !after.iter().any(|e| e.phase == CHOOSE));
            let vector = order.parts[part].kind == CoreKind::Aiv;
            assert!(!vector || before.iter().all(|entry| entry.phase != SQUARE), "squares need no route");
            assert!(vector || after.iter().all(|entry| entry.phase >= DISPATCH), "nor do they wait for it");
        }
        let choosing = kind(order, CoreKind::Aiv).filter(|&part| at[part] > 0).count();
        let scoring = kind(order, CoreKind::Aic).filter(|&part| at[part] > 0).count();
        assert!(choosing > 0 && scoring > 0);
    }
    let wait = schedule.routed_after.as_ref().unwrap();
    assert_eq!((wait.index, wait.need.per_row), (Index::Rank, 1));
    assert!(schedule.phases[CHOOSE].signals.iter().any(|signal| signal.counter == wait.counter));
    assert!(schedule.phases[SCORE].signals.iter().all(|signal| signal.counter != wait.counter));
    assert_eq!(changed(|_| ()), []);
}

#[test]
fn ids_that_the_route_does_not_wait_for_are_found() {
    assert_eq!(changed(|schedule| schedule.routed_after = None), [Violation::RoutedEarly { phase: CHOOSE }]);
    let found = changed(|schedule| {
        let wanted = schedule.routed_after.as_ref().map(|wait| wait.counter);
        schedule.phases[CHOOSE].signals.retain(|signal| Some(signal.counter) != wanted);
    });
    assert_eq!(found, [Violation::RoutedEarly { phase: CHOOSE }]);
    let found = changed(|schedule| {
        schedule.phases[CHOOSE].signals.iter_mut().for_each(|signal| signal.remote = true);
    });
    assert_eq!(found, [Violation::RoutedEarly { phase: CHOOSE }]);
}

#[test]
fn an_entry_after_the_route_in_the_taskflow_is_not_before_it_in_a_queue() {
    let late = |kind_of: CoreKind| {
        let mut moved = Vec::new();
        let found = changed(|schedule| {
            let order = &mut schedule.orders[1];
            let parts: Vec<PartId> = kind(order, kind_of).collect();
            for part in parts {
                let at = order.routed_at.as_mut().unwrap();
                let end = order.queues[part].len() as u32;
                if at[part] < end {
                    at[part] = end;
                    moved.push(Violation::Unrouted { ranks: 2, part });
                }
            }
        });
        assert!(!moved.is_empty());
        assert_eq!(found, moved);
    };
    late(CoreKind::Aic);
    late(CoreKind::Aiv);
    let found = changed(|schedule| {
        let order = &mut schedule.orders[1];
        let end = order.queues[PartId(0)].len() as u32 + 1;
        order.routed_at.as_mut().unwrap()[PartId(0)] = end;
    });
    assert_eq!(found, [Violation::Unrouted { ranks: 2, part: PartId(0) }]);
}

#[test]
fn a_phase_before_the_route_counts_tiles_of_tokens_alone() {
    let checked = router(&Layer::SMALL);
    let of_rows = checked.graph().phases[DISPATCH].space;
    let of_tokens = checked.graph().phases[SQUARE].space;
    let found = |spaces: &[SpaceId]| {
        let preceding = spaces.iter().map(|&space| (space, 1)).collect();
        changed(|schedule| schedule.phases[CHOOSE].preceding = preceding)
    };
    assert_eq!(found(&[of_tokens, of_tokens]), []);
    // At any position in the list.
    for spaces in [&[of_rows][..], &[of_rows, of_tokens], &[of_tokens, of_tokens, of_rows]] {
        assert_eq!(found(spaces), [Violation::NeedsRoute { phase: CHOOSE }]);
    }
}

#[test]
fn a_phase_before_the_route_touches_no_routed_rows() {
    let checked = router(&Layer::SMALL);
    let made = schedule(&checked, Cores::ASCEND_A3);
    for change in [|access: &mut Access| access.region.rows = Rows::Tile, |access: &mut Access| access.remote = true] {
        let changed = checked.changed(|graph| change(&mut graph.phases[CHOOSE].accesses[0]));
        let mut found = Vec::new();
        route(&changed, &made, &mut found);
        assert_eq!(found, [Violation::NeedsRoute { phase: CHOOSE }]);
    }
}

#[test]
fn a_phase_over_routed_rows_needs_the_route() {
    let checked = router(&Layer::SMALL);
    let made = schedule(&checked, Cores::ASCEND_A3);
    let rows = checked.graph().phases[DISPATCH].space;
    let mut found = Vec::new();
    route(&checked.changed(|graph| graph.phases[SCORE].space = rows), &made, &mut found);
    assert_eq!(found, [Violation::NeedsRoute { phase: SCORE }]);
}

#[test]
fn no_tables_are_made_between_entries_that_are_walked_together() {
    let made = schedule(&router(&Layer::SMALL), Cores::ASCEND_A3);
    let order = &made.orders[1];
    let at = order.routed_at.as_ref().unwrap();
    let next = |part: &PartId| order.queues[*part].get(at[*part] as usize).map(|entry| entry.phase);
    let parts: Vec<PartId> = order.queues.ids().filter(|part| next(part) == Some(SQUARE)).collect();
    assert!(!parts.is_empty());
    let found = changed(|schedule| schedule.phases[SQUARE].joins_previous = true);
    for part in parts {
        assert!(found.contains(&Violation::Unrouted { ranks: 2, part }), "{found:?}");
    }
}

#[test]
fn ids_that_are_written_after_the_route_are_late() {
    let checked = router(&Layer::SMALL);
    let made = schedule(&checked, Cores::ASCEND_A3);
    let earlier = checked.changed(|graph| graph.route.as_mut().unwrap().before = CHOOSE.0 as usize);
    let mut found = Vec::new();
    route(&earlier, &made, &mut found);
    assert!(found.contains(&Violation::RoutedEarly { phase: CHOOSE }), "{found:?}");
}

#[test]
fn other_checks_see_what_the_route_waits_for() {
    let checked = router(&Layer::SMALL);
    let finds = |break_it: &dyn Fn(&mut Schedule), wanted: fn(&Violation) -> bool| {
        let mut broken = schedule(&checked, Cores::ASCEND_A3);
        break_it(&mut broken);
        let violations = validate(&checked, broken).expect_err("it is broken");
        assert!(violations.iter().any(wanted), "{violations:?}");
        violations.iter().for_each(|violation| assert!(!violation.text(&checked).is_empty()));
    };
    let need = |schedule: &mut Schedule| schedule.routed_after.as_mut().unwrap().need.per_row += 1;
    finds(&need, |v| matches!(v, Violation::RouteThreshold { .. }));
    let other = |schedule: &mut Schedule| {
        let other = schedule.phases[CHOOSE].waits[0].clone();
        schedule.routed_after = Some(other);
    };
    finds(&other, |v| matches!(v, Violation::RouteForm));
    // The tables would wait for ids that are written after them.
    for kind_of in [CoreKind::Aic, CoreKind::Aiv] {
        let first = |schedule: &mut Schedule| {
            for order in &mut schedule.orders {
                let parts: Vec<PartId> = kind(order, kind_of).collect();
                parts.into_iter().for_each(|part| order.routed_at.as_mut().unwrap()[part] = 0);
            }
        };
        finds(&first, |v| matches!(v, Violation::Cycle { .. }));
    }
}

#[test]
fn tables_that_the_host_has_made_are_not_made_again() {
    let found = broken(route, |schedule| {
        schedule.orders[0].routed_at = Some([0, 0, 0].into_iter().collect());
    });
    assert_eq!(found, [Violation::SecondRoute { ranks: 1 }]);
}
