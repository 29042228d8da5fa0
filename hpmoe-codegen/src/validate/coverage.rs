//! Every dependency is kept by something.

use super::Violation;
use super::forms::{Home, home};
use super::same_core::SameCore;
use crate::schedule::Schedule;
use hpmoe_kernels::op::TaskKind;
use hpmoe_language::analyze::{CheckedGraph, Dependency, Index, Wait};
use hpmoe_language::graph::{Phase, Rows, SpaceKind, TaskGraph};
use hpmoe_language::ids::PhaseId;
use std::collections::BTreeSet;

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
    let mut seen = BTreeSet::new();
    while let Some((phase, joined)) = open.pop() {
        if !seen.insert((phase, joined)) {
            continue;
        }
        let steps = checked.dependencies().iter().zip(solid).filter(|(step, solid)| **solid && step.before == phase);
        for (step, _) in steps {
            let joined = joined || !column_by_column(step);
            let reached = signalled_home(graph, step);
            let on_both_ranks = graph.spaces[graph.phases[step.after].space].kind == SpaceKind::Chunks;
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
mod tests {
    use super::*;
    use crate::schedule::{Cores, Entry, schedule};
    use crate::validate::broken::broken_of;
    use hpmoe_language::fixture::{Layer, activated_again, chunked, gated, moe_ffn};
    use hpmoe_language::graph::Columns;

    fn uncovered_of_small(break_it: impl FnOnce(&mut Schedule)) -> Vec<usize> {
        uncovered(&moe_ffn(&Layer::SMALL), break_it)
    }

    fn uncovered(checked: &CheckedGraph, break_it: impl FnOnce(&mut Schedule)) -> Vec<usize> {
        let dependency = |violation| match violation {
            Violation::Uncovered { dependency } => dependency,
            other => panic!("{other:?}"),
        };
        broken_of(checked, coverage, break_it).into_iter().map(dependency).collect()
    }

    #[test]
    fn a_right_schedule_passes() {
        assert_eq!(uncovered_of_small(|_| ()), [0; 0]);
        assert_eq!(uncovered(&gated(&Layer::SMALL), |_| ()), [0; 0]);
        assert_eq!(uncovered(&activated_again(&Layer::SMALL, true), |_| ()), [0; 0]);
    }

    #[test]
    fn every_wait_and_every_signal_is_missed() {
        let checked = moe_ffn(&Layer::SMALL);
        let whole = schedule(&checked, Cores::ASCEND_A3);
        for phase in checked.graph().phases.ids() {
            for wait in 0..whole.phases[phase].waits.len() {
                let found = uncovered_of_small(|schedule| drop(schedule.phases[phase].waits.remove(wait)));
                assert!(!found.is_empty(), "wait {wait} of phase {}", phase.0);
            }
            for signal in 0..whole.phases[phase].signals.len() {
                let found = uncovered_of_small(|schedule| {
                    schedule.phases[phase].signals.remove(signal);
                });
                assert!(!found.is_empty(), "signal {signal} of phase {}", phase.0);
            }
        }
    }

    #[test]
    fn other_cores_speak_for_nobody() {
        // Without the same band, up's tiles don't tell of gate's, nor gate's waits of up's; and no path is left for the
        // (token, k).
        assert_eq!(uncovered_of_small(|schedule| schedule.phases[PhaseId(1)].band = 2), [1, 2, 7]);
    }

    #[test]
    fn what_another_core_or_the_same_task_made_is_awaited() {
        let again = PhaseId(4);
        let checked = activated_again(&Layer::SMALL, true);
        let of_again = |found: Vec<usize>| found.iter().any(|&number| checked.dependencies()[number].after == again);
        assert!(of_again(uncovered(&checked, |schedule| schedule.phases[again].band = 2)));
        let checked = activated_again(&Layer::SMALL, false);
        assert!(of_again(uncovered(&checked, |schedule| schedule.phases[again].waits.clear())));
    }

    #[test]
    fn a_queue_that_turns_two_phases_round_is_found() {
        let swapped = |schedule: &mut Schedule| {
            let queue = &mut schedule.orders[1].queues[hpmoe_language::ids::PartId(0)];
            let place = |queue: &[Entry], phase| {
                queue.iter().position(|entry| entry.phase == PhaseId(phase) && entry.expert == 3).unwrap()
            };
            let (gate, up) = (place(queue, 1), place(queue, 2));
            queue.swap(gate, up);
        };
        assert_eq!(uncovered_of_small(swapped), [1, 2, 7]);
    }

    #[test]
    fn what_a_peer_awaits_says_nothing_about_this_rank() {
        let checked = chunked(&Layer::TINY, 4);
        let frees = checked.reuse().unwrap().frees;
        let through = |d: &&Dependency| checked.counters()[d.signal.counter].through;
        let dependencies: Vec<&Dependency> = checked.dependencies().iter().filter(through).collect();
        let returns = |d: &&Dependency| checked.graph().phases[d.before].accesses.iter().any(|access| access.remote);
        assert!(dependencies.iter().any(returns), "the put that gives rows back");
        for dependency in dependencies {
            let uncovered = uncovered(&checked, |schedule| {
                schedule.phases[dependency.before].signals.retain(|signal| *signal != dependency.signal);
                schedule.phases[frees].waits.retain(|wait| *wait != dependency.wait);
            });
            let uncovered: Vec<&Dependency> = uncovered.iter().map(|&number| &checked.dependencies()[number]).collect();
            assert!(uncovered.contains(&dependency), "phase {} is not awaited", dependency.before.0);
        }
    }

    #[test]
    fn a_path_from_tile_to_tile_joins_no_columns() {
        // Received rows are read again by a phase that runs tile by tile after the down projection. Without the wait of
        // the down projection for whole rows nothing joins the columns on the way.
        let checked = gated(&Layer::SMALL);
        let down = PhaseId(4);
        let found = uncovered(&checked, |schedule| schedule.phases[down].waits.clear());
        assert!(found.len() > 1, "{found:?}");
    }

    #[test]
    fn a_producer_speaks_for_another_only_at_the_same_counters() {
        let checked = moe_ffn(&Layer::SMALL);
        let same_core = SameCore::new(&checked, &schedule(&checked, Cores::ASCEND_A3));
        let [recv, of_gate, of_up] = [0, 2, 3].map(|number| &checked.dependencies()[number]);
        let speaks = |change: &dyn Fn(&mut Dependency)| {
            let mut other = of_up.clone();
            change(&mut other);
            speaks_for(&checked, &same_core, &other, of_gate)
        };
        assert!(speaks(&|_| ()));
        assert!(!speaks(&|other| other.after = PhaseId(4)));
        assert!(!speaks(&|other| other.wait.counter = recv.wait.counter));
        assert!(!speaks(&|other| other.wait.index = Index::RowTile));
        assert!(!speaks(&|other| other.signal.index = Index::RowTile));
        assert!(!speaks(&|other| other.signal.remote = true));
        assert!(!speaks_for(&checked, &same_core, of_gate, of_up), "gate's tiles are made before up's");
    }

    #[test]
    fn a_vector_core_finds_only_what_it_has_made_itself_in_the_same_place() {
        let checked = activated_again(&Layer::SMALL, true);
        let same_core = SameCore::new(&checked, &schedule(&checked, Cores::ASCEND_A3));
        let [swiglu, again] = [3, 4].map(PhaseId);
        let wanted = checked.dependencies().iter().find(|d| (d.before, d.after) == (swiglu, again)).unwrap();
        let finds = |change: &dyn Fn(&mut TaskGraph)| {
            let mut graph = checked.graph().clone();
            change(&mut graph);
            own(&graph, &same_core, wanted)
        };
        let accesses = &checked.graph().phases[again].accesses;
        let read = accesses.iter().position(|access| access.tensor == wanted.tensor && !access.write).unwrap();
        assert!(finds(&|_| ()));
        for task in [swiglu, again].map(|phase| checked.graph().phases[phase].task) {
            assert!(!finds(&|graph| graph.tasks[task].kind = TaskKind::Matrix));
        }
        assert!(!finds(&|graph| graph.phases[again].accesses[read].region.columns = Columns::All));
        assert!(!finds(&|graph| graph.phases[again].accesses[read].remote = true));
    }

    #[test]
    fn a_path_leads_from_row_to_row_and_from_rank_to_rank() {
        let checked = moe_ffn(&Layer::SMALL);
        let [gate, down] = [1, 4].map(PhaseId);
        let all = vec![true; checked.dependencies().len()];
        let [of_gate, of_activation, origins] = [2, 4, 7].map(|number| &checked.dependencies()[number]);
        assert!(path(&checked, &all, of_gate) && path(&checked, &all, origins));
        // From tile to tile is less than from all columns to all columns.
        let mut of_rows = of_gate.clone();
        (of_rows.signal.index, of_rows.wait.index) = (Index::RowTile, Index::RowTile);
        assert!(!path(&checked, &all, &of_rows));
        // Rows of an expert's matrix are not those that tiles share on the way.
        let weights = checked.graph().phases[gate].accesses[1].tensor;
        let of_rows = Dependency { before: gate, after: down, ..of_activation.clone() };
        let of_matrix = Dependency { tensor: weights, ..of_rows.clone() };
        assert!(path(&checked, &all, &of_rows) && !path(&checked, &all, &of_matrix));
        // Signals on the sender's rank tell the receiver nothing.
        let mut elsewhere = checked.clone();
        elsewhere.dependencies_mut()[..2].iter_mut().for_each(|dependency| dependency.signal.remote = false);
        let solid: Vec<bool> = (0..all.len()).map(|number| number != 7).collect();
        assert!(path(&checked, &solid, origins) && !path(&elsewhere, &solid, origins));
    }

    #[test]
    fn no_path_leads_on_from_a_word() {
        let mut checked = chunked(&Layer::TINY, 4);
        let frees = checked.reuse().unwrap().frees;
        let through = |d: &&Dependency| d.after == frees && !d.signal.remote;
        let to_word = checked.dependencies().iter().rfind(through).unwrap().clone();
        let squares = PhaseId(0);
        let from_word = Dependency { before: frees, after: squares, ..to_word.clone() };
        let wanted = Dependency { after: squares, ..to_word };
        checked.dependencies_mut().push(from_word);
        let solid = vec![true; checked.dependencies().len()];
        assert!(!path(&checked, &solid, &wanted));
    }
}
