//! Counters that tiles can address, and counters that they can't.

use super::*;
use crate::analyze::Dependency;
use crate::fixture::{Layer, chunked, moe_ffn, once, router};
use crate::graph::Space;
use crate::ids::CounterId;
use crate::validate::broken::{broken, broken_of};

#[test]
fn a_right_schedule_passes() {
    assert_eq!(broken(forms, |_| ()), []);
}

#[test]
fn a_put_signals_the_row_tile_at_the_peer() {
    let dispatch = PhaseId(0);
    let found = broken(forms, |schedule| schedule.phases[dispatch].signals[0].remote = false);
    assert!(matches!(found[..], [Violation::Form { phase, .. }] if phase == dispatch));
}

#[test]
fn matrix_cores_count_pieces() {
    let up = PhaseId(2);
    let found = broken(forms, |schedule| schedule.phases[up].signals[0].amount = Amount::Rows);
    assert!(matches!(found[..], [Violation::Form { phase, .. }] if phase == up));
}

#[test]
fn counters_that_there_are_not_are_found() {
    let gate = PhaseId(1);
    let beyond = CounterId(moe_ffn(&Layer::SMALL).counters().len() as u32);
    let found = broken(forms, |schedule| schedule.phases[gate].waits[0].counter = beyond);
    assert_eq!(found, [Violation::Form { phase: gate, counter: beyond }]);
    let up = PhaseId(2);
    let found = broken(forms, |schedule| schedule.phases[up].signals[0].counter = beyond);
    assert_eq!(found, [Violation::Form { phase: up, counter: beyond }]);
}

#[test]
fn a_wait_addresses_counters_of_its_grid() {
    let back = PhaseId(5);
    let found = broken(forms, |schedule| schedule.phases[back].waits[0].index = Index::Expert);
    assert!(matches!(found[..], [Violation::Form { phase, .. }] if phase == back));
}

#[test]
fn forms_that_no_tile_can_address_are_found() {
    let [dispatch, gate, back] = [0, 1, 5].map(PhaseId);
    let refused = |checked: &CheckedGraph, phase: PhaseId, break_it: &dyn Fn(&mut Schedule)| {
        let found = broken_of(checked, forms, break_it);
        assert!(matches!(found[..], [Violation::Form { phase: other, .. }] if other == phase), "{found:?}");
    };
    let checked = moe_ffn(&Layer::SMALL);
    let recv = checked.dependencies()[0].wait.clone();
    let slots = checked.dependencies()[6].wait.clone();
    // A missing counter; one of another grid; one of a peer; those of scattered tokens.
    refused(&checked, gate, &|schedule| schedule.phases[gate].waits[0].counter = CounterId(99));
    refused(&checked, back, &|schedule| schedule.phases[back].signals[0].index = Index::Rank);
    refused(&checked, dispatch, &|schedule| schedule.phases[dispatch].waits.push(recv.clone()));
    let scattered = Wait { index: Index::PieceBlocks, ..slots };
    refused(&checked, dispatch, &|schedule| schedule.phases[dispatch].waits.push(scattered.clone()));
    // Tiles of once-sent rows are awaited. No phase that looks up its tokens there signals them.
    let checked = once(&Layer::TINY);
    let copy = PhaseId(1);
    let wait = checked.dependencies()[0].wait.clone();
    assert_eq!(wait.index, Index::OnceTiles);
    let Wait { counter, index, .. } = wait;
    let signal = Signal { counter, index, amount: Amount::Rows, remote: false };
    refused(&checked, copy, &|schedule| schedule.phases[copy].signals.push(signal));
}

#[test]
fn the_route_waits_for_all_ids_at_once() {
    let checked = router(&Layer::SMALL);
    let wait = checked.route_input().unwrap().wait.clone();
    assert!(waits_for_ids(&checked, &wait));
    let beyond = CounterId(checked.counters().len() as u32);
    assert!(!waits_for_ids(&checked, &Wait { counter: beyond, ..wait.clone() }));
    let changed = |change: &dyn Fn(&mut Wait)| {
        let mut wait = wait.clone();
        change(&mut wait);
        waits_for_ids(&checked, &wait)
    };
    assert!(changed(&|wait| wait.need.per_row += 1), "whether it is as much as is signalled is seen elsewhere");
    assert!(!changed(&|wait| wait.index = Index::Block));
    assert!(!changed(&|wait| wait.need.fixed = 1));
    assert!(!changed(&|wait| wait.need.per_slot = 1));
    assert!(!changed(&|wait| wait.need.pieces.push((Height::Rows(8), 1))));
    let with = |change: &dyn Fn(&mut Counter)| {
        let mut counters = checked.counters().clone();
        change(&mut counters[wait.counter]);
        let dependencies = checked.dependencies().to_vec();
        waits_for_ids(&CheckedGraph::for_tests(checked.graph().clone(), counters, dependencies), &wait)
    };
    assert!(with(&|_| ()));
    assert!(!with(&|counter| counter.grid = Grid::Blocks { height: 4 }));
    assert!(!with(&|counter| counter.through = true));
    let ids = checked.graph().route.as_ref().unwrap().ids;
    let other = checked.graph().tensors.ids().find(|&id| id != ids).unwrap();
    assert!(!with(&|counter| counter.tensor = other));
}

#[test]
fn only_the_word_of_a_chunk_waits_for_what_is_no_longer_read() {
    let checked = chunked(&Layer::TINY, 4);
    let frees = checked.reuse().unwrap().frees;
    let through = |d: &&Dependency| checked.counters()[d.wait.counter].through;
    let waits: Vec<Wait> = checked.dependencies().iter().filter(through).map(|d| d.wait.clone()).collect();
    assert!(!waits.is_empty());
    for phase in checked.graph().phases.ids() {
        for wait in &waits {
            let found = broken_of(&checked, forms, |schedule| schedule.phases[phase].waits.push(wait.clone()));
            // The last chunks don't signal it.
            let wanted = (phase != frees).then_some(Violation::Form { phase, counter: wait.counter });
            assert_eq!(found, wanted.into_iter().collect::<Vec<_>>());
        }
    }
    // If no chunk reuses memory, no word says that rows are no longer read.
    let mut without = checked.clone();
    *without.reuse_mut() = None;
    assert!(waits.iter().all(|wait| wait_fits(&checked, frees, wait) && !wait_fits(&without, frees, wait)));
}

#[test]
fn an_index_fits_a_grid_and_the_items_of_a_phase() {
    let checked = once(&Layer::TINY);
    let graph = checked.graph();
    let phases =
        |kind: SpaceKind| graph.phases.ids().filter(move |&id| graph.spaces[graph.phases[id].space].kind == kind);
    let only = |kind: SpaceKind| phases(kind).next().unwrap();
    let [sends_once, tiles, arrivals, blocks] =
        [SpaceKind::SendsOnce, SpaceKind::RowTiles, SpaceKind::Arrivals, SpaceKind::Blocks].map(only);
    // Tiles of 2 and of 4 rows; the first phase has one column, the second has two.
    let space = |rows: u32| {
        let wanted = Space { kind: SpaceKind::RowTiles, height: Height::Rows(rows) };
        graph.spaces.position(|space| *space == wanted).unwrap()
    };
    let (two, four) = (space(2), space(4));
    let cut = phases(SpaceKind::RowTiles).find(|&id| graph.phases[id].space == four).unwrap();
    let columns = graph.phases[cut].columns();
    assert!(graph.phases[tiles].space == two && columns > 1);
    let grid = |space, columns| Grid::RowTiles { space, columns };
    let blocks_of = |height| Grid::Blocks { height };
    let fits = |phase, grid, once, index| addresses(graph, phase, (grid, once), index);
    for (phase, grid, once, index, wanted) in [
        (sends_once, grid(two, 1), true, Index::RowTile, true),
        (sends_once, grid(two, 1), false, Index::RowTile, false),
        (tiles, grid(two, 1), true, Index::RowTile, false),
        (tiles, grid(two, 1), true, Index::OnceTiles, true),
        (tiles, grid(two, 1), false, Index::OnceTiles, false),
        (arrivals, grid(two, 1), true, Index::OnceTiles, false),
        (tiles, grid(four, 1), false, Index::RowTile, true),
        (blocks, grid(four, 1), false, Index::RowTile, false),
        (cut, grid(four, columns), false, Index::Tile, true),
        (cut, grid(four, columns + 1), false, Index::Tile, false),
        (cut, grid(four, columns), true, Index::Tile, false),
        (cut, grid(four, columns), false, Index::RowTile, false),
        (cut, grid(two, columns), false, Index::Tile, false),
        (tiles, Grid::Experts, false, Index::Expert, true),
        (tiles, Grid::Experts, true, Index::Expert, false),
        (blocks, Grid::Experts, false, Index::Expert, false),
        (sends_once, Grid::Experts, false, Index::Expert, false),
        (blocks, blocks_of(4), false, Index::Block, true),
        (blocks, blocks_of(2), false, Index::Block, false),
        (blocks, blocks_of(6), false, Index::Block, false),
        (tiles, blocks_of(4), false, Index::Block, false),
        (arrivals, blocks_of(4), false, Index::PieceBlocks, true),
        (sends_once, blocks_of(4), false, Index::PieceBlocks, false),
        (tiles, Grid::Rank, false, Index::Rank, true),
        (tiles, Grid::Rank, true, Index::Rank, false),
        (sends_once, Grid::Rank, false, Index::Rank, true),
    ] {
        assert_eq!(fits(phase, grid, once, index), wanted, "phase {phase:?} {grid:?} once: {once} {index:?}");
    }
    // Pieces of 2 rows lie in single tiles of 2 and of 4 rows; pieces of 4 don't lie in single tiles of 2.
    let mut higher = graph.clone();
    higher.spaces[higher.phases[sends_once].space].height = Height::Rows(4);
    assert!(!addresses(&higher, sends_once, (grid(two, 1), true), Index::RowTile));
    assert!(addresses(&higher, sends_once, (grid(four, 1), true), Index::RowTile));
}

#[test]
fn rows_are_counted_where_they_are_and_tokens_where_they_come_from() {
    let checked = moe_ffn(&Layer::SMALL);
    let [sends, tiles, arrivals, blocks] = [0, 1, 5, 6].map(PhaseId);
    let home = |phase, index, remote| home(checked.graph(), phase, index, remote);
    assert_eq!(home(sends, Index::RowTile, true), Some(Home::Owner));
    assert_eq!(home(sends, Index::RowTile, false), None);
    assert_eq!(home(sends, Index::PieceBlocks, false), Some(Home::Source));
    assert_eq!(home(sends, Index::PieceBlocks, true), None);
    assert_eq!(home(arrivals, Index::PieceBlocks, true), Some(Home::Source));
    assert_eq!(home(arrivals, Index::PieceBlocks, false), None);
    assert_eq!(home(tiles, Index::RowTile, true), None);
    assert_eq!(home(blocks, Index::Rank, false), Some(Home::Source));
}
