//! Checks that every entry is there exactly once, on cores that can run it.

use super::Violation;
use crate::analyze::CheckedGraph;
use crate::graph::{SpaceKind, TaskGraph};
use crate::ids::{Id, PhaseId, SpaceId};
use crate::schedule::{CoreKind, Entry, MAX_RANKS, Order, Role, Schedule};
use hpmoe_kernels::op::TaskKind;
use std::ops::RangeInclusive;

/// The numbers of ranks that a group may have.
const RANKS: RangeInclusive<u32> = 1..=MAX_RANKS;

/// Checks that roles partition the cores, and that the parts of every order do so inside each role. Each phase must
/// have a role that can run it. For every number of ranks, each group of the phase must be exactly once in the queues
/// of that role.
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
    let wanted = RANKS.filter(|ranks| graph.sizes.experts % *ranks as usize == 0 || graph.named_ranks.contains(ranks));
    if !numbers.clone().eq(wanted) {
        violations.push(Violation::Orders { listed: numbers.collect() });
        return;
    }
    for order in &schedule.orders {
        each_once(graph, schedule, order, violations);
    }
    rotations(graph, schedule, violations);
}

/// Checks that each phase's rotation is less than the number of cores that share any of its queues.
fn rotations(graph: &TaskGraph, schedule: &Schedule, violations: &mut Vec<Violation>) {
    for phase in graph.phases.ids() {
        let rotation = schedule.phases[phase].rotation;
        let queues = schedule
            .orders
            .iter()
            .flat_map(|order| order.queues.iter().map(|(part, queue)| (&order.parts[part], queue)));
        let mut few = queues.filter(|(part, _)| part.count <= rotation);
        if few.any(|(_, queue)| queue.iter().any(|entry| entry.phase == phase)) {
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

/// Whether all cores of a part belong to a role.
fn within(part: &Role, role: &Role) -> bool {
    let end = |cores: &Role| cores.first.saturating_add(cores.count);
    part.kind == role.kind && part.first >= role.first && end(part) <= end(role)
}

/// The numbers of experts and of peers over which a phase has entries.
fn shape(graph: &TaskGraph, phase: PhaseId, ranks: u32) -> (u32, u32) {
    let experts = graph.sizes.expert_chunks(ranks as usize) as u32;
    match graph.spaces[graph.phases[phase].space].kind {
        SpaceKind::RowTiles | SpaceKind::OnceTiles | SpaceKind::Experts => (experts, 1),
        SpaceKind::Sends | SpaceKind::SendsOnce | SpaceKind::Arrivals => (experts, ranks),
        SpaceKind::Blocks | SpaceKind::Chunks => (graph.sizes.chunks as u32, 1),
    }
}

#[cfg(test)]
mod tests;
