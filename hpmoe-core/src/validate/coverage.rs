//! Checks that the schedule keeps every dependency.

use super::Violation;
use super::forms::{Home, home};
use super::same_core::SameCore;
use crate::analyze::{CheckedGraph, Dependency, Index, Wait};
use crate::collections::SortedSet;
use crate::graph::{Phase, Rows, SpaceKind, TaskGraph};
use crate::ids::PhaseId;
use crate::schedule::Schedule;
use hpmoe_kernels::op::TaskKind;

/// A schedule keeps each dependency in one of four ways:
///
/// - The dependency has its own signal and wait.
/// - Another producer has the signal and the wait, and the same cores make its tiles later.
/// - The core that makes a tile has itself made everything that the tile touches, in an earlier task.
/// - Kept dependencies lead from one phase to the other, for the same rows and columns.
///
/// [`thresholds`](super::thresholds::thresholds) checks that waits are for all signals of a counter.
pub(super) fn coverage(checked: &CheckedGraph, schedule: &Schedule, violations: &mut Vec<Violation>) {
    let same_core = SameCore::new(checked, schedule);
    let dependencies = checked.dependencies();
    let counted: Vec<bool> = dependencies.iter().map(|d| counted(schedule, &same_core, d)).collect();
    let spoken_for = |d: &Dependency| {
        let mut others = dependencies.iter().zip(&counted).filter(|(_, counted)| **counted);
        others.any(|(other, _)| speaks_for(checked, &same_core, other, d))
    };
    let covered = |(d, counted): (_, &bool)| *counted || spoken_for(d) || own(checked.graph(), &same_core, d);
    let solid: Vec<bool> = dependencies.iter().zip(&counted).map(covered).collect();
    for (dependency, wanted) in dependencies.iter().enumerate() {
        if !solid[dependency] && !path(checked, &solid, wanted) {
            violations.push(Violation::Uncovered { dependency });
        }
    }
}

/// Whether a dependency is kept by a counter: the producer signals it, and the consumer waits for it, or its core has waited for it in an
/// earlier entry.
fn counted(schedule: &Schedule, same_core: &SameCore, dependency: &Dependency) -> bool {
    let waits = |phase: PhaseId| schedule.phases[phase].waits.contains(&dependency.wait);
    let waited_before = || {
        let mut phases = schedule.phases.ids();
        phases.any(|phase| same_core.before(phase, dependency.after) && waits(phase))
    };
    schedule.phases[dependency.before].signals.contains(&dependency.signal)
        && (waits(dependency.after) || waited_before())
}

/// Whether `other` implies `wanted`: the same core makes `other`'s tile after `wanted`'s and signals the counter at the
/// same position of an array of the same shape, and the consumer waits for it.
fn speaks_for(checked: &CheckedGraph, same_core: &SameCore, other: &Dependency, wanted: &Dependency) -> bool {
    let grid = |wait: &Wait| checked.counters()[wait.counter].grid;
    other.after == wanted.after
        && same_core.before(wanted.before, other.before)
        && grid(&other.wait) == grid(&wanted.wait)
        && other.wait.index == wanted.wait.index
        && (other.signal.index, other.signal.remote) == (wanted.signal.index, wanted.signal.remote)
}

/// Whether the core that runs a tile has itself written all that the tile touches, at the same place. The two tasks
/// differ, so a vector core waits for all pipes between them, when UB changes hands.
fn own(graph: &TaskGraph, same_core: &SameCore, wanted: &Dependency) -> bool {
    let (before, after) = (&graph.phases[wanted.before], &graph.phases[wanted.after]);
    let vector = |phase: &Phase| graph.tasks[phase.task].kind == TaskKind::Vector;
    let made = before.accesses.iter().filter(|access| access.write);
    let made: Vec<_> = made.map(|access| (access.tensor, access.region, access.remote)).collect();
    let mut touched = after.accesses.iter().filter(|access| access.tensor == wanted.tensor);
    same_core.before(wanted.before, wanted.after)
        && vector(before)
        && vector(after)
        && before.task != after.task
        && touched.all(|access| !access.remote && made.contains(&(access.tensor, access.region, false)))
}

/// Whether kept dependencies lead from one phase to the other.
///
/// Every phase covers all rows that it shares with another. If both ends touch a row, each phase between them has a
/// tile that touches it, and these tiles follow one another. A step from tile to tile stays in one column; any other
/// step waits for all columns, so one such step is enough to join them.
///
/// Each step leads to the rank of the row that its counter belongs to. A phase over chunks has a tile on the rank that
/// received the row and one on the rank that the token belongs to. The last step must therefore lead to the rank of the
/// wanted dependency: a wait on the other rank does not help.
fn path(checked: &CheckedGraph, solid: &[bool], wanted: &Dependency) -> bool {
    let graph = checked.graph();
    if !row_by_row(graph, wanted) {
        return false;
    }
    let by_column = column_by_column(wanted);
    // A phase, and whether the path to it has joined the columns.
    let mut open = vec![(wanted.before, false)];
    let mut seen = SortedSet::default();
    while let Some((phase, joined)) = open.pop() {
        if !seen.insert((phase, joined)) {
            continue;
        }
        let steps = checked.dependencies().iter().zip(solid).filter(|(step, solid)| **solid && step.before == phase);
        for (step, _) in steps {
            let joined = joined || !column_by_column(step);
            let reached = signalled_home(graph, step);
            let on_both_ranks = graph.spaces[graph.phases[step.after].space].kind == SpaceKind::Chunks;
            if may_leave_out(graph, step, wanted) {
                continue;
            }
            if !on_both_ranks && reached != home(graph, step.after, step.wait.index, false) {
                continue;
            }
            if step.after == wanted.after && reached == signalled_home(graph, wanted) && (joined || by_column) {
                return true;
            }
            if !on_both_ranks {
                open.push((step.after, joined));
            }
        }
    }
    false
}

/// Whether a step leads to sends while both ends touch blocks of tokens. Sends have no tile for a token whose slots are
/// all empty.
fn may_leave_out(graph: &TaskGraph, step: &Dependency, wanted: &Dependency) -> bool {
    let kind = |phase: PhaseId| graph.spaces[graph.phases[phase].space].kind;
    kind(step.before) == SpaceKind::Blocks
        && matches!(kind(step.after), SpaceKind::Sends | SpaceKind::SendsOnce)
        && matches!(kind(wanted.after), SpaceKind::Blocks | SpaceKind::Chunks)
}

/// The rank whose counter a dependency signals, relative to a row.
fn signalled_home(graph: &TaskGraph, dependency: &Dependency) -> Option<Home> {
    home(graph, dependency.before, dependency.signal.index, dependency.signal.remote)
}

fn column_by_column(dependency: &Dependency) -> bool {
    dependency.signal.index == Index::Tile && dependency.wait.index == Index::Tile
}

/// Whether the two phases share only rows of tokens or routed rows, and no experts' matrices.
fn row_by_row(graph: &TaskGraph, dependency: &Dependency) -> bool {
    let accesses = |phase: PhaseId| graph.phases[phase].accesses.iter();
    let mut shared =
        accesses(dependency.before).chain(accesses(dependency.after)).filter(|a| a.tensor == dependency.tensor);
    shared.all(|access| !matches!(access.region.rows, Rows::Expert { .. }))
}

#[cfg(test)]
mod tests;
