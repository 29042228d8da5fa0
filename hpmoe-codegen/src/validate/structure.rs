//! Every entry exactly once, on cores that can run it.

use super::Violation;
use crate::schedule::{CoreKind, Entry, MAX_RANKS, Order, Role, Schedule};
use hpmoe_kernels::op::TaskKind;
use hpmoe_language::analyze::CheckedGraph;
use hpmoe_language::graph::{SpaceKind, TaskGraph};
use hpmoe_language::ids::{Id, PhaseId, SpaceId};
use std::ops::RangeInclusive;

/// The numbers of ranks that a group may have.
const RANKS: RangeInclusive<u32> = 1..=MAX_RANKS;

/// Roles share the cores among them, and so do the parts of every order, each inside of a role. Each phase has a role
/// that can run it, and for every number of ranks each group of the phase stands once in the queues of that role.
pub(super) fn structure(checked: &CheckedGraph, schedule: &Schedule, violations: &mut Vec<Violation>) {
    let graph = checked.graph();
    roles(schedule, violations);
    tables(graph, schedule, violations);
    if !violations.is_empty() {
        return;
    }
    phases(graph, schedule, violations);
    orders(graph, schedule, violations);
}

fn roles(schedule: &Schedule, violations: &mut Vec<Violation>) {
    each_core_once(schedule, &schedule.roles.iter().map(|(_, role)| role).collect::<Vec<_>>(), violations);
    for order in &schedule.orders {
        each_core_once(schedule, &order.parts.iter().map(|(_, part)| part).collect::<Vec<_>>(), violations);
    }
}

fn each_core_once(schedule: &Schedule, sets: &[&Role], violations: &mut Vec<Violation>) {
    for (kind, cores) in [(CoreKind::Aic, schedule.aic), (CoreKind::Aiv, schedule.aiv)] {
        let of_kind = sets.iter().filter(|set| set.kind == kind);
        let mut ranges: Vec<(u32, u32)> = of_kind.map(|set| (set.first, set.count)).collect();
        ranges.sort_unstable();
        let end = ranges
            .iter()
            .try_fold(0, |end, &(first, count)| (first == end && count > 0).then(|| end.saturating_add(count)));
        if end != Some(cores) {
            violations.push(Violation::Roles { kind, cores });
        }
    }
}

fn tables(graph: &TaskGraph, schedule: &Schedule, violations: &mut Vec<Violation>) {
    if schedule.phases.len() != graph.phases.len() {
        violations.push(Violation::Table { what: "phases" });
    }
    if !schedule.phases.iter().all(|(_, phase)| phase.role.index() < schedule.roles.len()) {
        violations.push(Violation::Table { what: "roles" });
    }
    if schedule.orders.iter().any(|order| order.queues.len() != order.parts.len()) {
        violations.push(Violation::Table { what: "queues" });
    }
}

fn phases(graph: &TaskGraph, schedule: &Schedule, violations: &mut Vec<Violation>) {
    for (phase, call) in graph.phases.iter() {
        let role = schedule.phases[phase].role;
        let wanted = match graph.tasks[call.task].kind {
            TaskKind::Matrix => CoreKind::Aic,
            TaskKind::Vector | TaskKind::Put => CoreKind::Aiv,
        };
        if schedule.roles[role].kind != wanted {
            violations.push(Violation::WrongCores { phase, role });
        }
        if schedule.phases[phase].band == 0 {
            violations.push(Violation::Band { phase });
        }
        let runs_over = |space: SpaceId| graph.phases.iter().any(|(_, phase)| phase.space == space);
        if !schedule.phases[phase].preceding.iter().all(|&(space, _)| runs_over(space)) {
            violations.push(Violation::Preceding { phase });
        }
    }
}

fn orders(graph: &TaskGraph, schedule: &Schedule, violations: &mut Vec<Violation>) {
    let numbers = schedule.orders.iter().map(|order| order.ranks);
    let wanted = RANKS.filter(|&ranks| graph.sizes.experts.is_multiple_of(ranks as usize));
    if !numbers.clone().eq(wanted) {
        violations.push(Violation::Orders { listed: numbers.collect() });
        return;
    }
    for order in &schedule.orders {
        each_once(graph, schedule, order, violations);
    }
    rotations(graph, schedule, violations);
}

/// Whether each phase moves on by fewer cores than share any of the queues that it is in.
fn rotations(graph: &TaskGraph, schedule: &Schedule, violations: &mut Vec<Violation>) {
    for phase in graph.phases.ids() {
        let rotation = schedule.phases[phase].rotation;
        let queues = schedule
            .orders
            .iter()
            .flat_map(|order| order.queues.iter().map(|(part, queue)| (&order.parts[part], queue)));
        let mut few = queues.filter(|(part, _)| part.count <= rotation);
        if rotation > 0 && few.any(|(_, queue)| queue.iter().any(|entry| entry.phase == phase)) {
            violations.push(Violation::Rotation { phase });
        }
    }
}

fn each_once(graph: &TaskGraph, schedule: &Schedule, order: &Order, violations: &mut Vec<Violation>) {
    let ranks = order.ranks;
    let shapes: Vec<(u32, u32)> = graph.phases.ids().map(|phase| shape(graph, phase, ranks)).collect();
    let mut seen: Vec<Vec<bool>> =
        shapes.iter().map(|&(experts, peers)| vec![false; (experts * peers) as usize]).collect();
    for (part, queue) in order.queues.iter() {
        for &entry in queue {
            let Entry { phase, expert, peer_offset } = entry;
            let at = phase.0 as usize;
            let belongs = shapes.get(at).is_some_and(|&(experts, peers)| expert < experts && peer_offset < peers);
            if !belongs || !within(&order.parts[part], &schedule.roles[schedule.phases[phase].role]) {
                violations.push(Violation::Misplaced { ranks, part, entry });
            } else if std::mem::replace(&mut seen[at][(expert * shapes[at].1 + peer_offset) as usize], true) {
                violations.push(Violation::Twice { ranks, entry });
            }
        }
    }
    for phase in graph.phases.ids() {
        let at = phase.0 as usize;
        for (group, _) in (0..).zip(&seen[at]).filter(|(_, seen)| !**seen) {
            let peers = shapes[at].1;
            let entry = Entry { phase, expert: group / peers, peer_offset: group % peers };
            violations.push(Violation::Missing { ranks, entry });
        }
    }
}

/// Whether all cores of a part are of a role.
fn within(part: &Role, role: &Role) -> bool {
    let end = |cores: &Role| cores.first.saturating_add(cores.count);
    part.kind == role.kind && part.first >= role.first && end(part) <= end(role)
}

/// Experts and peers that the entries of a phase count.
fn shape(graph: &TaskGraph, phase: PhaseId, ranks: u32) -> (u32, u32) {
    let experts = graph.sizes.expert_chunks(ranks as usize) as u32;
    match graph.spaces[graph.phases[phase].space].kind {
        SpaceKind::RowTiles | SpaceKind::OnceTiles | SpaceKind::Experts => (experts, 1),
        SpaceKind::Sends | SpaceKind::SendsOnce | SpaceKind::Arrivals => (experts, ranks),
        SpaceKind::Blocks | SpaceKind::Chunks => (graph.sizes.chunks as u32, 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::{Cores, schedule};
    use crate::validate::broken::{broken, broken_of};
    use hpmoe_language::fixture::{Layer, moe_ffn};
    use hpmoe_language::ids::{PartId, RoleId};

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
        // An expert and a phase too many.
        for stray in [Entry { expert: 16, ..entry }, Entry { phase: PhaseId(7), ..entry }] {
            let found = broken(structure, |schedule| schedule.orders[0].queues[communication].push(stray));
            assert_eq!(found, [Violation::Misplaced { ranks: 1, part: communication, entry: stray }]);
        }
    }

    #[test]
    fn what_is_missing_is_named_by_expert_and_peer() {
        let entry = Entry { phase: PhaseId(0), expert: 2, peer_offset: 3 };
        let found = broken(structure, |schedule| {
            let queues = &mut schedule.orders[2].queues;
            queues.ids().collect::<Vec<_>>().into_iter().for_each(|part| queues[part].retain(|other| *other != entry));
        });
        assert_eq!(found, [Violation::Missing { ranks: 4, entry }]);
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
        // The smallest part counts.
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
        let found = broken(structure, |schedule| schedule.orders[0].parts[PartId(1)].count -= 1);
        assert_eq!(found, [vector]);
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
    }
}
