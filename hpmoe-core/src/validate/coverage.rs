//! Every dependency is kept by something.

use super::Violation;
use super::forms::{Home, home};
use super::same_core::SameCore;
use crate::analyze::{CheckedGraph, Dependency, Index, Wait};
use crate::collections::SortedSet;
use crate::graph::{Phase, Rows, SpaceKind, TaskGraph};
use crate::ids::PhaseId;
use crate::schedule::Schedule;
use hpmoe_kernels::op::TaskKind;

/// Each dependency is kept in one of four ways:
///
/// - it has a signal and a wait of its own;
/// - another producer has them, whose tiles the same cores make later;
/// - the core that makes a tile has made what it touches itself, in a task before;
/// - dependencies so kept lead from the one phase to the other, for the same rows and columns.
///
/// That a wait is for all that is signalled is for [`thresholds`](super::thresholds::thresholds) to see.
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

/// The producer signals, and the consumer waits, or the same core has waited for the same in an earlier entry.
fn counted(schedule: &Schedule, same_core: &SameCore, dependency: &Dependency) -> bool {
    let waits = |phase: PhaseId| schedule.phases[phase].waits.contains(&dependency.wait);
    let waited_before = || {
        let mut phases = schedule.phases.ids();
        phases.any(|phase| same_core.before(phase, dependency.after) && waits(phase))
    };
    schedule.phases[dependency.before].signals.contains(&dependency.signal)
        && (waits(dependency.after) || waited_before())
}

/// The same core makes `other`'s tile after `wanted`'s, signals the counter at the same place in an array of the same
/// shape, and the consumer looks there.
fn speaks_for(checked: &CheckedGraph, same_core: &SameCore, other: &Dependency, wanted: &Dependency) -> bool {
    let grid = |wait: &Wait| checked.counters()[wait.counter].grid;
    other.after == wanted.after
        && same_core.before(wanted.before, other.before)
        && grid(&other.wait) == grid(&wanted.wait)
        && other.wait.index == wanted.wait.index
        && (other.signal.index, other.signal.remote) == (wanted.signal.index, wanted.signal.remote)
}

/// A core touches what it has made itself in the same place, and another task has been given UB since: it has waited
/// for all pipes, as vector cores do then.
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

/// Whether covered dependencies lead from one end to the other.
///
/// Every phase covers all rows that it shares with another, so a row that both ends touch is touched by a tile of each
/// phase between them, and those tiles follow one another: each step relates tiles that share a row. A step from tile
/// to tile keeps to one column; any other waits for all columns, and so one such step joins them.
///
/// Each step leads to the rank of the row where the counter lies. A phase over chunks has a tile on the rank that received the
/// row and one on the rank whose token it is, so the last step must lead to the rank of the dependency itself: what the
/// other rank has awaited says nothing about this one.
fn path(checked: &CheckedGraph, solid: &[bool], wanted: &Dependency) -> bool {
    let graph = checked.graph();
    if !row_by_row(graph, wanted) {
        return false;
    }
    let by_column = column_by_column(wanted);
    // A phase, and whether the way there has joined the columns.
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

/// Whether a step leads over sends, which have no tile for a token whose slots are all empty, and both ends touch such a token, too.
fn may_leave_out(graph: &TaskGraph, step: &Dependency, wanted: &Dependency) -> bool {
    let kind = |phase: PhaseId| graph.spaces[graph.phases[phase].space].kind;
    kind(step.before) == SpaceKind::Blocks
        && matches!(kind(step.after), SpaceKind::Sends | SpaceKind::SendsOnce)
        && matches!(kind(wanted.after), SpaceKind::Blocks | SpaceKind::Chunks)
}

/// The rank, told by a row, on which the counter of a dependency lies.
fn signalled_home(graph: &TaskGraph, dependency: &Dependency) -> Option<Home> {
    home(graph, dependency.before, dependency.signal.index, dependency.signal.remote)
}

fn column_by_column(dependency: &Dependency) -> bool {
    dependency.signal.index == Index::Tile && dependency.wait.index == Index::Tile
}

/// Whether the two phases meet only where they touch the same routed rows or tokens.
fn row_by_row(graph: &TaskGraph, dependency: &Dependency) -> bool {
    let accesses = |phase: PhaseId| graph.phases[phase].accesses.iter();
    let mut shared =
        accesses(dependency.before).chain(accesses(dependency.after)).filter(|a| a.tensor == dependency.tensor);
    shared.all(|access| !matches!(access.region.rows, Rows::Expert { .. }))
}

#[cfg(test)]
mod tests;
