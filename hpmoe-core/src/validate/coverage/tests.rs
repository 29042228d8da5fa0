//! Every dependency is kept in some way, or reported.

use super::*;
use crate::analyze::{Amount, Counter, Cover, Grid, Hazard, Need, Signal};
use crate::fixture::{Layer, activated_again, chunked, circular, gated, moe_ffn, sums as added_up};
use crate::graph::{Access, Columns, Region, RowKind};
use crate::schedule::{Cores, Entry, schedule};
use crate::validate::broken::broken_of;

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

/// A phase must wait again for data that another phase already awaits. A core that makes its tiles of an expert may have no tile of the
/// phase that waits first.
#[test]
fn what_other_phases_await_of_an_expert_is_awaited_again() {
    let checked = added_up(&Layer::TINY, 3);
    let whole = schedule(&checked, Cores::ASCEND_A3);
    let waits = |phase: PhaseId| whole.phases[phase].waits.iter().map(move |wait| (phase, wait));
    let all: Vec<_> = whole.phases.ids().flat_map(waits).collect();
    let again = all.iter().filter(|(phase, wait)| all.iter().any(|(first, other)| first < phase && other == wait));
    let again: Vec<_> = again.filter(|(_, wait)| wait.index == Index::Expert).collect();
    assert!(!again.is_empty(), "two gradients need all rows of an expert");
    for (phase, wait) in again {
        let found = uncovered(&checked, |schedule| schedule.phases[*phase].waits.retain(|other| other != *wait));
        assert!(found.iter().any(|&number| checked.dependencies()[number].after == *phase), "{found:?}");
    }
}

#[test]
fn what_has_a_counter_of_its_own_is_covered_without_a_path() {
    // Another phase reads rows of an expert's matrix, and waits for the expert's counter.
    let whole = added_up(&Layer::TINY, 1);
    let is_matrix = |access: &Access| matches!(whole.graph().tensors[access.tensor].rows, RowKind::Expert(_));
    let adds = |id: &PhaseId| whole.graph().phases[*id].accesses.iter().any(|access| access.write && is_matrix(access));
    let [first, second] = whole.graph().phases.ids().filter(adds).collect::<Vec<_>>()[..] else {
        panic!("two gradients")
    };
    let mut graph = whole.graph().clone();
    let sum = *graph.phases[first].accesses.iter().find(|access| access.write).unwrap();
    graph.phases[second].accesses.push(Access { write: false, ..sum });
    let mut counters = whole.counters().clone();
    let counter = counters.push(Counter { tensor: sum.tensor, grid: Grid::Experts, through: false });
    let signal = Signal { counter, index: Index::Expert, amount: Amount::One, remote: false };
    let wait = Wait { counter, index: Index::Expert, need: Need::default() };
    let (hazard, cover) = (Hazard::ReadAfterWrite, Cover::Counter);
    let read = Dependency { before: first, after: second, tensor: sum.tensor, hazard, cover, signal, wait };
    let checked = CheckedGraph::for_tests(graph, counters, vec![read.clone()]);
    assert_eq!(uncovered(&checked, |_| ()), [0; 0]);
    assert_eq!(uncovered(&checked, |schedule| schedule.phases[second].waits.retain(|wait| *wait != read.wait)), [0]);
}

#[test]
fn who_does_not_signal_speaks_for_nobody() {
    // Up's signals also stand for gate's tiles.
    let found = uncovered_of_small(|schedule| schedule.phases[PhaseId(2)].signals.clear());
    assert!(found.starts_with(&[2, 3]), "{found:?}");
}

#[test]
fn a_search_for_a_path_ends_where_dependencies_go_round() {
    let checked = circular(&Layer::TINY);
    let last = checked.dependencies().len() - 1;
    let wanted = Dependency { after: PhaseId(0), ..checked.dependencies()[0].clone() };
    assert!(!path(&checked, &vec![true; last + 1], &wanted));
}

#[test]
fn each_dependency_that_is_kept_is_a_path_by_itself() {
    let checked = chunked(&Layer::TINY, 4);
    let frees = checked.reuse().unwrap().frees;
    let dependencies = checked.dependencies();
    let homes: Vec<_> =
        dependencies.iter().filter(|d| d.after == frees).map(|d| signalled_home(checked.graph(), d).unwrap()).collect();
    assert!(homes.contains(&Home::Owner) && homes.contains(&Home::Source), "words wait for both ranks: {homes:?}");
    for (number, dependency) in dependencies.iter().enumerate() {
        let alone: Vec<bool> = (0..dependencies.len()).map(|other| other == number).collect();
        assert!(path(&checked, &alone, dependency), "dependency {number}");
    }
}

#[test]
fn other_cores_speak_for_nobody() {
    // With different bands, up's tiles don't imply gate's and gate's waits don't imply up's, and no path is left for
    // the (token, k).
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
        let queue = &mut schedule.orders[1].queues[crate::ids::PartId(0)];
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
    // A phase after the down projection reads received rows again, tile by tile. If the down projection doesn't wait
    // for whole rows, nothing joins the columns on the path.
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
    let more = Access { region: Region { columns: Columns::All, ..accesses[read].region }, ..accesses[read] };
    assert!(!finds(&|graph| graph.phases[again].accesses.push(more)));
    let wrote = checked.graph().phases[swiglu].accesses.iter().position(|access| access.write).unwrap();
    assert!(!finds(&|graph| graph.phases[swiglu].accesses[wrote].write = false));
    assert!(!finds(&|graph| graph.phases[again].accesses[read].remote = true));
}

#[test]
fn a_path_leads_from_row_to_row_and_from_rank_to_rank() {
    let checked = moe_ffn(&Layer::SMALL);
    let [gate, down] = [1, 4].map(PhaseId);
    let all = vec![true; checked.dependencies().len()];
    let [of_gate, of_activation, origins] = [2, 4, 7].map(|number| &checked.dependencies()[number]);
    assert!(path(&checked, &all, of_gate) && path(&checked, &all, origins));
    // An order between tiles of the same columns doesn't imply one between all columns of the rows.
    for (signal, wait) in
        [(Index::RowTile, Index::RowTile), (Index::Tile, Index::RowTile), (Index::RowTile, Index::Tile)]
    {
        let mut of_rows = of_gate.clone();
        (of_rows.signal.index, of_rows.wait.index) = (signal, wait);
        assert!(!path(&checked, &all, &of_rows), "{signal:?} {wait:?}");
    }
    // Rows of an expert's matrix are not the rows that tiles on the path share.
    let weights = checked.graph().phases[gate].accesses[1].tensor;
    let of_rows = Dependency { before: gate, after: down, ..of_activation.clone() };
    let of_matrix = Dependency { tensor: weights, ..of_rows.clone() };
    assert!(path(&checked, &all, &of_rows) && !path(&checked, &all, &of_matrix));
    // Signals on the sender's rank don't inform the receiver.
    let mut elsewhere = checked.clone();
    elsewhere.dependencies_mut()[..2].iter_mut().for_each(|dependency| dependency.signal.remote = false);
    let solid: Vec<bool> = (0..all.len()).map(|number| number != 7).collect();
    assert!(path(&checked, &solid, origins) && !path(&elsewhere, &solid, origins));
}

#[test]
fn a_phase_is_reached_with_columns_joined_and_without() {
    let mut checked = moe_ffn(&Layer::SMALL);
    let [of_gate, of_activation] = [2, 4].map(|number| checked.dependencies()[number].clone());
    let all_columns = |d: &Dependency| {
        let mut d = d.clone();
        (d.signal.index, d.wait.index) = (Index::RowTile, Index::RowTile);
        d
    };
    let mut on = of_activation.clone();
    (on.signal.index, on.wait.index) = (Index::Tile, Index::Tile);
    let wanted = all_columns(&Dependency { after: on.after, ..of_gate.clone() });
    assert!(column_by_column(&of_gate));
    // The search continues from both of two steps to a phase, whichever it finds first.
    for steps in [[all_columns(&of_gate), of_gate.clone()], [of_gate.clone(), all_columns(&of_gate)]] {
        *checked.dependencies_mut() = [steps.to_vec(), vec![on.clone()]].concat();
        assert!(path(&checked, &[true; 3], &wanted));
        let by_tile: Vec<bool> = checked.dependencies().iter().map(column_by_column).collect();
        assert!(!path(&checked, &by_tile, &wanted), "nothing joins the columns");
    }
}

#[test]
fn rows_that_come_back_are_sent_on_whatever_else_is_empty() {
    // Assume that returned rows were sent again, and that the sum read sent rows.
    let mut checked = moe_ffn(&Layer::SMALL);
    let [dispatch, back, combine] = [0, 5, 6].map(PhaseId);
    let origin = checked.dependencies().iter().find(|d| (d.before, d.after) == (back, combine)).unwrap().clone();
    assert_eq!(origin.signal.index, Index::PieceBlocks);
    let mut again = Dependency { after: dispatch, ..origin.clone() };
    again.wait.index = Index::Rank;
    let mut read = Dependency { before: dispatch, ..origin.clone() };
    read.signal.remote = false;
    *checked.dependencies_mut() = vec![again, read];
    assert!(path(&checked, &[true; 2], &origin));
    // A block of tokens may have no token that is sent.
    let of_block = Dependency { before: combine, ..checked.dependencies()[0].clone() };
    let wanted = Dependency { before: combine, signal: Signal { remote: false, ..origin.signal }, ..origin };
    checked.dependencies_mut()[0] = of_block;
    checked.dependencies_mut()[0].signal.remote = false;
    let sends = checked.graph().phases[dispatch].space;
    for kind in [SpaceKind::Sends, SpaceKind::SendsOnce] {
        let sent = checked.changed(|graph| graph.spaces[sends].kind = kind);
        assert!(!path(&sent, &[true; 2], &wanted), "{kind:?}");
    }
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
