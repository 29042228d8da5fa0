//! The counters that a tile of the instance signals or awaits.

use super::instance::{Instance, owner};
use super::tiles::Tile;
use crate::analyze::{Amount, CheckedGraph, Dependency, Grid, Index, Signal, Wait};
use crate::graph::{RowKind, SpaceKind};
use crate::ids::CounterId;

/// A counter of an array: rank, expert, row tile or block, and column.
type Counter = (usize, usize, usize, u32);

/// Whether tile `after` awaits a counter that tile `before` signals.
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

/// The counters that a tile adds to; empty if it adds nothing.
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

/// The counters of an array, on a rank, that an index selects for a tile; empty if it can't select any.
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
    // No single counter stands for an item that spans two tiles.
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
            rows().map(|row| (rank, 0, row.token / height, 0)).collect()
        }
        (Grid::Rank, Index::Rank) => vec![(rank, 0, 0, 0)],
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tiles::tiles;
    use super::*;
    use crate::analyze::{Counter, Need};
    use crate::fixture::{Layer, moe_backward, moe_ffn, once};
    use crate::graph::{Height, Space, TaskGraph};
    use crate::ids::PhaseId;
    use std::collections::BTreeSet;

    /// Tiles of the first phase over a space of this kind.
    fn tiles_over(graph: &TaskGraph, instance: &Instance, kind: SpaceKind) -> Vec<Tile> {
        let over = |phase: PhaseId| graph.spaces[graph.phases[phase].space].kind == kind;
        let first = graph.phases.ids().find(|&phase| over(phase)).unwrap();
        tiles(graph, instance).into_iter().filter(|tile| tile.phase == first).collect()
    }

    #[test]
    fn a_counter_lies_where_the_rows_are() {
        let checked = moe_ffn(&Layer::SMALL);
        let instance = Instance::new(&checked);
        let signal = checked.dependencies()[0].signal;
        for tile in tiles_over(checked.graph(), &instance, SpaceKind::Sends) {
            let counters = signalled(&checked, &instance, &tile, &signal);
            assert!(matches!(counters[..], [(rank, expert, ..)] if (rank, expert) == (tile.peer, tile.expert)));
            let elsewhere = signalled(&checked, &instance, &tile, &Signal { remote: false, ..signal });
            assert_eq!(elsewhere.is_empty(), tile.rank != tile.peer);
        }
    }

    #[test]
    fn no_rows_add_nothing_and_a_tile_adds_one() {
        let checked = moe_backward(&Layer::TINY);
        let instance = Instance::new(&checked);
        let counter = checked.counters().position(|counter| counter.grid == Grid::Experts).unwrap();
        let signal = Signal { counter, index: Index::Expert, amount: Amount::One, remote: false };
        let tiles = tiles_over(checked.graph(), &instance, SpaceKind::Experts);
        let empty: Vec<&Tile> = tiles.iter().filter(|tile| tile.rows.is_empty()).collect();
        assert!(!empty.is_empty(), "an expert gets no rows");
        for tile in empty {
            assert_eq!(signalled(&checked, &instance, tile, &signal).len(), 1);
            let rows = Signal { amount: Amount::Rows, ..signal };
            assert_eq!(signalled(&checked, &instance, tile, &rows), []);
        }
    }

    #[test]
    fn an_item_in_two_row_tiles_has_no_counter_of_its_own() {
        // A layer whose puts have tiles of 2 rows and whose products have tiles of 4.
        let checked = moe_ffn(&Layer::TINY);
        let graph = checked.graph();
        let mut finer = graph.clone();
        let height = Height::Rows(2);
        let tiles_of_puts = finer.spaces.push(Space { kind: SpaceKind::RowTiles, height });
        let mut counters = checked.counters().clone();
        let counter = checked.dependencies()[0].wait.counter;
        counters[counter].grid = Grid::RowTiles { space: tiles_of_puts, columns: 1 };
        let finer = CheckedGraph::for_tests(finer, counters, Vec::new());
        let instance = Instance::new(&finer);
        let of_puts = instance.height_of_rows(height);
        for tile in tiles_over(graph, &instance, SpaceKind::RowTiles) {
            let wait = &checked.dependencies()[0].wait;
            assert_eq!(awaited(&finer, &instance, &tile, wait).is_empty(), tile.rows.len() > of_puts);
        }
    }

    #[test]
    fn a_block_in_two_blocks_of_counters_has_no_counter_of_its_own() {
        let checked = moe_ffn(&Layer::TINY);
        let graph = checked.graph();
        let mut counters = checked.counters().clone();
        let counter = counters.position(|counter| matches!(counter.grid, Grid::Blocks { .. })).unwrap();
        counters[counter].grid = Grid::Blocks { height: 2 };
        let finer = CheckedGraph::for_tests(graph.clone(), counters, Vec::new());
        let instance = Instance::new(&finer);
        let two = instance.height_of_blocks(Height::Rows(2));
        let wait = Wait { counter, index: Index::Block, need: Need::default() };
        let blocks = tiles_over(graph, &instance, SpaceKind::Blocks);
        assert!(blocks.iter().any(|tile| tile.rows.len() > two) && blocks.iter().any(|tile| tile.rows.len() <= two));
        for tile in blocks {
            assert_eq!(awaited(&finer, &instance, &tile, &wait).is_empty(), tile.rows.len() > two);
        }
    }

    #[test]
    fn columns_have_counters_of_their_own() {
        let checked = moe_ffn(&Layer::TINY);
        let instance = Instance::new(&checked);
        let dependency = checked.dependencies().iter().find(|d| d.signal.index == Index::Tile).unwrap();
        let of_gate = tiles(checked.graph(), &instance).into_iter().filter(|tile| tile.phase == dependency.before);
        let counters: Vec<_> = of_gate.map(|tile| signalled(&checked, &instance, &tile, &dependency.signal)).collect();
        assert!(counters.iter().all(|counters| counters.len() == 1));
        assert_eq!(counters.iter().collect::<BTreeSet<_>>().len(), counters.len());
    }

    #[test]
    fn an_index_means_nothing_for_tiles_of_other_rows() {
        let (layer, with_once) = (moe_ffn(&Layer::TINY), once(&Layer::TINY));
        let meant = |checked: &CheckedGraph, kind: SpaceKind, rows: RowKind, grid: Grid, index: Index| {
            let graph = checked.graph();
            let tensor = graph.tensors.position(|tensor| tensor.rows == rows).unwrap();
            let mut counters = checked.counters().clone();
            let array = counters.push(Counter { tensor, grid, through: false });
            let checked = CheckedGraph::for_tests(graph.clone(), counters, Vec::new());
            let instance = Instance::new(&checked);
            let wait = Wait { counter: array, index, need: Need::default() };
            let tiles = tiles_over(graph, &instance, kind);
            tiles.iter().any(|tile| !awaited(&checked, &instance, tile, &wait).is_empty())
        };
        let space = layer.graph().spaces.position(|space| space.kind == SpaceKind::RowTiles).unwrap();
        let (row_tiles, blocks) = (Grid::RowTiles { space, columns: 1 }, Grid::Blocks { height: 4 });
        for (kind, rows, grid, index, wanted) in [
            (SpaceKind::RowTiles, RowKind::Received, row_tiles, Index::RowTile, true),
            (SpaceKind::Arrivals, RowKind::Received, row_tiles, Index::RowTile, true),
            (SpaceKind::Blocks, RowKind::Received, row_tiles, Index::RowTile, false),
            (SpaceKind::RowTiles, RowKind::Received, row_tiles, Index::OnceTiles, false),
            (SpaceKind::RowTiles, RowKind::Received, Grid::Experts, Index::Expert, true),
            (SpaceKind::Blocks, RowKind::Received, Grid::Experts, Index::Expert, false),
            (SpaceKind::Blocks, RowKind::Token, blocks, Index::Block, true),
            (SpaceKind::RowTiles, RowKind::Token, blocks, Index::Block, false),
            (SpaceKind::Sends, RowKind::Token, blocks, Index::PieceBlocks, true),
            (SpaceKind::Blocks, RowKind::Token, blocks, Index::PieceBlocks, false),
        ] {
            assert_eq!(meant(&layer, kind, rows, grid, index), wanted, "{kind:?} {rows:?} {grid:?} {index:?}");
        }
        let space = with_once.graph().spaces.position(|space| space.kind == SpaceKind::RowTiles).unwrap();
        let row_tiles = Grid::RowTiles { space, columns: 1 };
        for (kind, rows, grid, index, wanted) in [
            (SpaceKind::SendsOnce, RowKind::Once, row_tiles, Index::RowTile, true),
            (SpaceKind::SendsOnce, RowKind::Received, row_tiles, Index::RowTile, false),
            (SpaceKind::RowTiles, RowKind::Once, row_tiles, Index::RowTile, false),
            (SpaceKind::RowTiles, RowKind::Once, row_tiles, Index::OnceTiles, true),
            (SpaceKind::SendsOnce, RowKind::Once, row_tiles, Index::OnceTiles, false),
            (SpaceKind::Blocks, RowKind::Once, row_tiles, Index::OnceTiles, false),
            (SpaceKind::RowTiles, RowKind::Once, Grid::Experts, Index::Expert, false),
            (SpaceKind::SendsOnce, RowKind::Received, Grid::Experts, Index::Expert, false),
        ] {
            assert_eq!(meant(&with_once, kind, rows, grid, index), wanted, "{kind:?} {rows:?} {grid:?} {index:?}");
        }
    }

    #[test]
    fn rows_sent_once_have_counters_of_their_own() {
        let checked = once(&Layer::TINY);
        let instance = Instance::new(&checked);
        let wait = checked.dependencies()[0].wait.clone();
        let one = Wait { index: Index::RowTile, ..wait.clone() };
        for tile in tiles_over(checked.graph(), &instance, SpaceKind::RowTiles) {
            assert_eq!(awaited(&checked, &instance, &tile, &wait).len(), tile.rows.len());
            assert_eq!(awaited(&checked, &instance, &tile, &one), []);
        }
    }

    #[test]
    fn a_dependency_orders_by_one_array_alone() {
        let checked = moe_ffn(&Layer::SMALL);
        let instance = Instance::new(&checked);
        let all = tiles(checked.graph(), &instance);
        let dependency = &checked.dependencies()[4];
        let mut other = dependency.clone();
        other.wait.counter = checked.dependencies()[5].wait.counter;
        let tiles_of = |phase: PhaseId| all.iter().filter(move |tile| tile.phase == phase);
        let pairs = || {
            tiles_of(dependency.before).flat_map(|before| tiles_of(dependency.after).map(move |after| (before, after)))
        };
        let orders =
            |dependency: &Dependency| pairs().filter(|&pair| ordered(&checked, &instance, dependency, pair)).count();
        assert!(orders(dependency) > 0 && orders(dependency) < pairs().count());
        assert_eq!(orders(&other), 0);
    }
}
