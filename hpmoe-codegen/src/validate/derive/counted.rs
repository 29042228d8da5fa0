//! Which counters a tile signals or awaits on the instance.

use super::instance::{Instance, owner};
use super::tiles::Tile;
use hpmoe_language::analyze::{Amount, CheckedGraph, Dependency, Grid, Index, Signal, Wait};
use hpmoe_language::graph::{RowKind, SpaceKind};
use hpmoe_language::ids::CounterId;

/// A counter of an array: rank, expert, row tile or block, and column.
type Counter = (usize, usize, usize, u32);

/// Whether the tile `after` awaits a counter that is not complete before the tile `before` has signalled.
pub(super) fn ordered(
    checked: &CheckedGraph,
    instance: &Instance,
    dependency: &Dependency,
    (before, after): (&Tile, &Tile),
) -> bool {
    let awaited = awaited(checked, instance, after, &dependency.wait);
    let mut signalled = signalled(checked, instance, before, &dependency.signal).into_iter();
    dependency.signal.counter == dependency.wait.counter && signalled.any(|counter| awaited.contains(&counter))
}

/// Counters to which a tile adds; none where it adds nothing.
pub(super) fn signalled(checked: &CheckedGraph, instance: &Instance, tile: &Tile, signal: &Signal) -> Vec<Counter> {
    if signal.amount == Amount::Rows && tile.rows.is_empty() {
        return Vec::new();
    }
    let rank = if signal.remote { tile.peer } else { tile.rank };
    counters(checked, instance, tile, (signal.counter, signal.index, rank))
}

fn awaited(checked: &CheckedGraph, instance: &Instance, tile: &Tile, wait: &Wait) -> Vec<Counter> {
    counters(checked, instance, tile, (wait.counter, wait.index, tile.rank))
}

/// The counters of an array on a rank that an index means for a tile; none where it has no meaning.
fn counters(
    checked: &CheckedGraph,
    instance: &Instance,
    tile: &Tile,
    (array, index, rank): (CounterId, Index, usize),
) -> Vec<Counter> {
    let graph = checked.graph();
    let grid = checked.counters()[array].grid;
    let height = instance.height_of_grid(checked, grid);
    let kind = graph.spaces[graph.phases[tile.phase].space].kind;
    let counts_once = graph.tensors[checked.counters()[array].tensor].rows == RowKind::Once;
    let sends_once = kind == SpaceKind::SendsOnce;
    let rows = || instance.rows(sends_once, tile.expert)[tile.rows.clone()].iter();
    let by_expert = kind != SpaceKind::Blocks && rank == owner(tile.expert);
    // An item that lies in two tiles has no counter that stands for all of it.
    let whole = !tile.rows.is_empty() && tile.rows.start / height == (tile.rows.end - 1) / height;
    match (grid, index) {
        (Grid::RowTiles { .. }, Index::RowTile | Index::Tile) if by_expert && whole && counts_once == sends_once => {
            let column = if index == Index::Tile { tile.column } else { 0 };
            vec![(rank, tile.expert, tile.rows.start / height, column)]
        }
        (Grid::RowTiles { .. }, Index::OnceTiles) if by_expert && counts_once && !sends_once => {
            let place = |row: &_| instance.place_once(rank, *row);
            rows().map(place).map(|(expert, row)| (rank, expert, row / height, 0)).collect()
        }
        (Grid::Experts, Index::Expert) if by_expert && !counts_once && !sends_once => vec![(rank, tile.expert, 0, 0)],
        (Grid::Blocks { .. }, Index::Block) if kind == SpaceKind::Blocks && whole => {
            vec![(rank, 0, tile.rows.start / height, 0)]
        }
        (Grid::Blocks { .. }, Index::PieceBlocks) if kind != SpaceKind::Blocks => {
            rows().filter(|row| row.source == rank).map(|row| (rank, 0, row.token / height, 0)).collect()
        }
        (Grid::Rank, Index::Rank) => vec![(rank, 0, 0, 0)],
        _ => Vec::new(),
    }
}
