//! Which counters a tile can address, and where they lie.

use super::Violation;
use crate::schedule::Schedule;
use hpmoe_kernels::op::TaskKind;
use hpmoe_language::analyze::{Amount, CheckedGraph, Grid, Index, Signal, Wait};
use hpmoe_language::graph::{Height, RowKind, SpaceKind, TaskGraph};
use hpmoe_language::ids::PhaseId;

/// A signal or a wait names a counter that a tile of its phase can compute from its coordinates.
pub(super) fn forms(checked: &CheckedGraph, schedule: &Schedule, violations: &mut Vec<Violation>) {
    let graph = checked.graph();
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

fn signal_fits(checked: &CheckedGraph, phase: PhaseId, signal: &Signal) -> bool {
    let graph = checked.graph();
    let of_experts = |counter: hpmoe_language::ids::CounterId| {
        let tensor = checked.counters()[counter].tensor;
        matches!(graph.tensors[tensor].rows, RowKind::Expert { .. })
    };
    let amount = match graph.tasks[graph.phases[phase].task].kind {
        _ if known(checked, signal.counter).is_some() && of_experts(signal.counter) => Amount::One,
        TaskKind::Matrix => Amount::One,
        TaskKind::Vector | TaskKind::Put => Amount::Rows,
    };
    let Some(counter) = known(checked, signal.counter) else { return false };
    signal.amount == amount
        && signal.index != Index::OnceTiles
        && addresses(graph, phase, counter, signal.index)
        && home(graph, phase, signal.index, signal.remote).is_some()
}

fn wait_fits(checked: &CheckedGraph, phase: PhaseId, wait: &Wait) -> bool {
    let graph = checked.graph();
    let Some(counter) = known(checked, wait.counter) else { return false };
    // A wait looks at counters of its own rank, but never at those of scattered tokens.
    wait.index != Index::PieceBlocks
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
        (Grid::Rank, Index::Rank) => !once && space.kind != SpaceKind::SendsOnce,
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
    use crate::validate::broken::broken;

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
    fn a_wait_addresses_counters_of_its_grid() {
        let back = PhaseId(5);
        let found = broken(forms, |schedule| schedule.phases[back].waits[0].index = Index::Expert);
        assert!(matches!(found[..], [Violation::Form { phase, .. }] if phase == back));
    }
}
