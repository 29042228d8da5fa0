//! Which counters a tile can address, and where they lie.

use super::Violation;
use crate::schedule::Schedule;
use hpmoe_kernels::op::TaskKind;
use hpmoe_language::analyze::{Amount, CheckedGraph, Counter, Grid, Index, Signal, Wait};
use hpmoe_language::graph::{Height, RowKind, SpaceKind, TaskGraph};
use hpmoe_language::ids::PhaseId;

/// A signal or a wait names a counter that a tile of its phase can compute from its coordinates; the route waits for its ids.
pub(super) fn forms(checked: &CheckedGraph, schedule: &Schedule, violations: &mut Vec<Violation>) {
    let graph = checked.graph();
    if schedule.routed_after.as_ref().is_some_and(|wait| !waits_for_ids(checked, wait)) {
        violations.push(Violation::RouteForm);
    }
    for phase in graph.phases.ids() {
        for signal in &schedule.phases[phase].signals {
            if !signal_fits(checked, phase, signal) {
                violations.push(Violation::Form { phase, counter: signal.counter });
            }
        }
        for wait in &schedule.phases[phase].waits {
            if !wait_fits(checked, phase, wait) {
                violations.push(Violation::Form { phase, counter: wait.counter });
            }
        }
    }
}

/// Whether the route waits for all of its ids on the rank.
fn waits_for_ids(checked: &CheckedGraph, wait: &Wait) -> bool {
    let ids = checked.graph().route.as_ref().map(|route| route.ids);
    let counters = checked.counters();
    let counter = ((wait.counter.0 as usize) < counters.len()).then(|| counters[wait.counter]);
    let fits = |counter: Counter| Some(counter.tensor) == ids && counter.grid == Grid::Rank && !counter.through;
    wait.index == Index::Rank
        && wait.need.fixed == 0
        && wait.need.per_slot == 0
        && wait.need.pieces.is_empty()
        && counter.is_some_and(fits)
}

fn signal_fits(checked: &CheckedGraph, phase: PhaseId, signal: &Signal) -> bool {
    let graph = checked.graph();
    let Some(counter) = known(checked, signal.counter) else { return false };
    let tensor = checked.counters()[signal.counter].tensor;
    let amount = match graph.tasks[graph.phases[phase].task].kind {
        _ if matches!(graph.tensors[tensor].rows, RowKind::Expert { .. }) => Amount::One,
        TaskKind::Matrix => Amount::One,
        TaskKind::Vector | TaskKind::Put => Amount::Rows,
    };
    signal.amount == amount
        && signal.index != Index::OnceTiles
        && addresses(graph, phase, counter, signal.index)
        && home(graph, phase, signal.index, signal.remote).is_some()
}

fn wait_fits(checked: &CheckedGraph, phase: PhaseId, wait: &Wait) -> bool {
    let graph = checked.graph();
    let Some(counter) = known(checked, wait.counter) else { return false };
    // What tells how much of a chunk is no longer read is not signalled of the last chunks, whose memory no other takes.
    let through = checked.counters()[wait.counter].through;
    let told = !through || checked.reuse().is_some_and(|reuse| reuse.frees == phase);
    // A wait looks at counters of its own rank, but never at those of scattered tokens.
    told && wait.index != Index::PieceBlocks
        && addresses(graph, phase, counter, wait.index)
        && home(graph, phase, wait.index, false).is_some()
}

/// What an array's counters stand for, and whether that is rows sent once.
fn known(checked: &CheckedGraph, counter: hpmoe_language::ids::CounterId) -> Option<(Grid, bool)> {
    let counters = checked.counters();
    ((counter.0 as usize) < counters.len()).then(|| {
        let once = checked.graph().tensors[counters[counter].tensor].rows == RowKind::Once;
        (counters[counter].grid, once)
    })
}

/// Whether the index leads to one counter of the grid for each tile, or for pieces to those of its blocks.
fn addresses(graph: &TaskGraph, phase: PhaseId, (grid, once): (Grid, bool), index: Index) -> bool {
    let space = graph.spaces[graph.phases[phase].space];
    let received = !space.by_chunk() && space.kind != SpaceKind::SendsOnce;
    match (grid, index) {
        // Rows sent once are others than those received for each (token, k).
        (Grid::RowTiles { space: tiles, columns: 1 }, Index::RowTile) if once => {
            space.kind == SpaceKind::SendsOnce && graph.spaces[tiles].height.holds(space.height)
        }
        (Grid::RowTiles { columns: 1, .. }, Index::OnceTiles) => once && space.kind == SpaceKind::RowTiles,
        (Grid::RowTiles { space: tiles, columns }, Index::RowTile | Index::Tile) => {
            let wanted = if index == Index::Tile { graph.phases[phase].columns() } else { 1 };
            // An item lies in one row tile.
            received && !once && columns == wanted && graph.spaces[tiles].height.holds(space.height)
        }
        (Grid::Experts, Index::Expert) => received && !once,
        (Grid::Blocks { height }, Index::Block) => {
            space.kind == SpaceKind::Blocks && Height::Rows(height).holds(space.height)
        }
        (Grid::Blocks { .. }, Index::PieceBlocks) => matches!(space.kind, SpaceKind::Sends | SpaceKind::Arrivals),
        (Grid::Rank, Index::Rank) => !once,
        _ => false,
    }
}

/// On which rank a counter lies, told by a row that the tile touches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Home {
    /// The rank that received the row.
    Owner,
    /// The rank whose token it is.
    Source,
}

/// Where the counters lie that a tile of the phase addresses; nothing where a tile can't know of them.
pub(super) fn home(graph: &TaskGraph, phase: PhaseId, index: Index, remote: bool) -> Option<Home> {
    let here = match graph.spaces[graph.phases[phase].space].kind {
        SpaceKind::RowTiles | SpaceKind::OnceTiles | SpaceKind::Experts => (Home::Owner, None),
        SpaceKind::Arrivals => (Home::Owner, Some(Home::Source)),
        SpaceKind::Sends | SpaceKind::SendsOnce => (Home::Source, Some(Home::Owner)),
        SpaceKind::Blocks | SpaceKind::Chunks => (Home::Source, None),
    };
    let home = if remote { here.1? } else { here.0 };
    let fits = match index {
        Index::RowTile | Index::Tile | Index::Expert | Index::OnceTiles => home == Home::Owner,
        Index::Block | Index::PieceBlocks => home == Home::Source,
        Index::Rank => true,
    };
    fits.then_some(home)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::validate::broken::{broken, broken_of};
    use hpmoe_language::analyze::Dependency;
    use hpmoe_language::fixture::{Layer, chunked, moe_ffn, once, router};
    use hpmoe_language::graph::Space;
    use hpmoe_language::ids::CounterId;

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
        // A counter that isn't there; one of another grid; that of a peer; those of scattered tokens.
        refused(&checked, gate, &|schedule| schedule.phases[gate].waits[0].counter = CounterId(99));
        refused(&checked, back, &|schedule| schedule.phases[back].signals[0].index = Index::Rank);
        refused(&checked, dispatch, &|schedule| schedule.phases[dispatch].waits.push(recv.clone()));
        let scattered = Wait { index: Index::PieceBlocks, ..slots };
        refused(&checked, dispatch, &|schedule| schedule.phases[dispatch].waits.push(scattered.clone()));
        // Tiles of rows sent once are awaited, and signalled by none that looks for its tokens there.
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
        let with = |change: &dyn Fn(&mut Counter)| {
            let mut counters = checked.counters().clone();
            change(&mut counters[wait.counter]);
            let dependencies = checked.dependencies().to_vec();
            waits_for_ids(&CheckedGraph::for_tests(checked.graph().clone(), counters, dependencies), &wait)
        };
        assert!(with(&|_| ()));
        assert!(!with(&|counter| counter.grid = Grid::Blocks { height: 4 }));
        assert!(!with(&|counter| counter.through = true));
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
        // Tiles of 2 and of 4 rows; the former's phase has one column, the latter's have two.
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
            (tiles, blocks_of(4), false, Index::Block, false),
            (arrivals, blocks_of(4), false, Index::PieceBlocks, true),
            (sends_once, blocks_of(4), false, Index::PieceBlocks, false),
            (tiles, Grid::Rank, false, Index::Rank, true),
            (tiles, Grid::Rank, true, Index::Rank, false),
            (sends_once, Grid::Rank, false, Index::Rank, true),
        ] {
            assert_eq!(fits(phase, grid, once, index), wanted, "phase {phase:?} {grid:?} once: {once} {index:?}");
        }
        // Pieces of 2 rows lie in tiles of 2 and of 4, but not those of 4 in tiles of 2.
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
}
