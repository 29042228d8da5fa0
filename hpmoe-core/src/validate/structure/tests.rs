use super::*;
use crate::fixture::{Layer, moe_ffn};
use crate::ids::{PartId, RoleId};
use crate::schedule::{Cores, schedule};
use crate::validate::broken::{broken, broken_of};

#[test]
fn a_right_schedule_passes() {
    assert_eq!(broken(structure, |_| ()), []);
}

#[test]
fn a_core_in_no_role_is_found() {
    let found = broken(structure, |schedule| schedule.roles[RoleId(2)].count -= 1);
    assert_eq!(found, [Violation::Roles { kind: CoreKind::Aiv, cores: 48 }]);
}

#[test]
fn a_matrix_phase_on_vector_cores_is_found() {
    let found = broken(structure, |schedule| schedule.phases[PhaseId(1)].role = RoleId(2));
    assert!(found.contains(&Violation::WrongCores { phase: PhaseId(1), role: RoleId(2) }));
}

#[test]
fn an_entry_missing_or_twice_or_elsewhere_is_found() {
    let entry = Entry { phase: PhaseId(0), expert: 0, peer_offset: 0 };
    let communication = PartId::new(1);
    let found = broken(structure, |schedule| {
        schedule.orders[0].queues[communication].remove(0);
    });
    assert_eq!(found, [Violation::Missing { ranks: 1, entry }]);
    let found = broken(structure, |schedule| schedule.orders[0].queues[communication].push(entry));
    assert_eq!(found, [Violation::Twice { ranks: 1, entry }]);
    // An expert and a phase that don't exist.
    for stray in [Entry { expert: 16, ..entry }, Entry { phase: PhaseId(7), ..entry }] {
        let found = broken(structure, |schedule| schedule.orders[0].queues[communication].push(stray));
        assert_eq!(found, [Violation::Misplaced { ranks: 1, part: communication, entry: stray }]);
    }
}

#[test]
fn what_is_missing_is_named_by_expert_and_peer() {
    // Sends to the rank itself count, too.
    for (expert, peer_offset) in [(2, 3), (2, 0), (0, 0), (3, 1)] {
        let entry = Entry { phase: PhaseId(0), expert, peer_offset };
        let found = broken(structure, |schedule| {
            let queues = &mut schedule.orders[2].queues;
            queues.ids().collect::<Vec<_>>().into_iter().for_each(|part| queues[part].retain(|other| *other != entry));
        });
        assert_eq!(found, [Violation::Missing { ranks: 4, entry }]);
    }
}

#[test]
fn tiles_that_precede_others_are_those_of_a_phase() {
    let spaces = moe_ffn(&Layer::SMALL).graph().spaces.len();
    let found = broken(structure, |schedule| schedule.phases[PhaseId(4)].preceding.push((SpaceId::new(spaces), 1)));
    assert_eq!(found, [Violation::Preceding { phase: PhaseId(4) }]);
}

#[test]
fn a_band_of_nothing_and_a_missing_order_are_found() {
    let found = broken(structure, |schedule| schedule.phases[PhaseId(4)].band = 0);
    assert_eq!(found, [Violation::Band { phase: PhaseId(4) }]);
    let found = broken(structure, |schedule| drop(schedule.orders.pop()));
    assert_eq!(found, [Violation::Orders { listed: vec![1, 2, 4, 8] }]);
}

#[test]
fn tiles_move_on_by_fewer_cores_than_share_their_queue() {
    let [gate, dispatch] = [1, 0].map(PhaseId);
    let rotated = |phase, rotation| broken(structure, |schedule| schedule.phases[phase].rotation = rotation);
    assert_eq!((rotated(gate, 23), rotated(gate, 24)), (vec![], vec![Violation::Rotation { phase: gate }]));
    // The smallest part decides.
    let least = schedule(&moe_ffn(&Layer::SMALL), Cores::ASCEND_A3);
    let parts =
        least.orders.iter().flat_map(|order| order.queues.iter().map(|(part, queue)| (&order.parts[part], queue)));
    let sending = parts.filter(|(_, queue)| queue.iter().any(|entry| entry.phase == dispatch));
    let least = sending.map(|(part, _)| part.count).min().unwrap();
    assert_eq!(rotated(dispatch, least - 1), []);
    assert_eq!(rotated(dispatch, least), [Violation::Rotation { phase: dispatch }]);
}

#[test]
fn cores_in_two_roles_or_in_an_empty_one_are_found() {
    let vector = Violation::Roles { kind: CoreKind::Aiv, cores: 48 };
    let found = broken(structure, |schedule| {
        schedule.roles[RoleId(1)].count += 1;
        schedule.roles[RoleId(2)].count -= 1;
    });
    assert_eq!(found, std::slice::from_ref(&vector));
    let found = broken(structure, |schedule| {
        schedule.roles.push(Role { count: 0, first: 48, ..schedule.roles[RoleId(2)].clone() });
    });
    assert_eq!(found, std::slice::from_ref(&vector));
    for order in 0..5 {
        let found = broken(structure, |schedule| schedule.orders[order].parts[PartId(1)].count -= 1);
        assert_eq!(found, std::slice::from_ref(&vector));
    }
}

#[test]
fn roles_may_be_listed_in_any_order() {
    let checked = moe_ffn(&Layer::SMALL);
    let made = schedule(&checked, Cores::ASCEND_A3);
    let mut roles: Vec<&Role> = made.roles.iter().map(|(_, role)| role).collect();
    roles.reverse();
    let mut found = Vec::new();
    each_core_once(&made, &roles, &mut found);
    assert_eq!(found, []);
}

#[test]
fn no_order_is_asked_for_more_ranks_than_a_group_may_have() {
    let layer = Layer { experts: MAX_RANKS as usize + 1, ..Layer::TINY };
    assert_eq!(broken_of(&moe_ffn(&layer), structure, |_| ()), []);
}

#[test]
fn tables_of_another_length_are_found() {
    let found = broken(structure, |schedule| {
        schedule.phases = schedule.phases.iter().skip(1).map(|(_, phase)| phase.clone()).collect();
    });
    assert_eq!(found, [Violation::Table { what: "phases" }]);
    let found = broken(structure, |schedule| schedule.phases[PhaseId(0)].role = RoleId::new(schedule.roles.len()));
    assert_eq!(found, [Violation::Table { what: "roles" }]);
    let found = broken(structure, |schedule| {
        schedule.orders[0].queues.push(Vec::new());
    });
    assert_eq!(found, [Violation::Table { what: "queues" }]);
}

#[test]
fn an_entry_of_no_peer_or_in_the_queue_of_another_role_is_found() {
    let stray = Entry { phase: PhaseId(0), expert: 0, peer_offset: 1 };
    let [matrix, communication] = [0, 1].map(PartId);
    let found = broken(structure, |schedule| schedule.orders[0].queues[communication].push(stray));
    assert_eq!(found, [Violation::Misplaced { ranks: 1, part: communication, entry: stray }]);
    let sent = Entry { peer_offset: 0, ..stray };
    let found = broken(structure, |schedule| {
        schedule.orders[0].queues[communication].retain(|entry| *entry != sent);
        schedule.orders[0].queues[matrix].push(sent);
    });
    assert!(found.contains(&Violation::Misplaced { ranks: 1, part: matrix, entry: sent }), "{found:?}");
}

#[test]
fn all_cores_of_a_part_are_of_its_role() {
    let cores = |kind, first, count| Role { name: "some", kind, first, count };
    let role = cores(CoreKind::Aiv, 4, 4);
    assert!(within(&cores(CoreKind::Aiv, 4, 4), &role) && within(&cores(CoreKind::Aiv, 5, 2), &role));
    let others = [cores(CoreKind::Aic, 4, 4), cores(CoreKind::Aiv, 3, 4), cores(CoreKind::Aiv, 5, 4)];
    assert!(others.iter().all(|part| !within(part, &role)));
    // A part of one core, too.
    let within_role: Vec<u32> = (0..12).filter(|&first| within(&cores(CoreKind::Aiv, first, 1), &role)).collect();
    assert_eq!(within_role, [4, 5, 6, 7]);
}
