//! The counters that a tile can address, and their ranks.

use super::Violation;
use crate::analyze::{Amount, CheckedGraph, Counter, Grid, Index, Signal, Wait};
use crate::graph::{Height, RowKind, SpaceKind, TaskGraph};
use crate::ids::PhaseId;
use crate::schedule::Schedule;
use hpmoe_kernels::op::TaskKind;

/// Checks that each signal and wait names a counter that a tile can compute from its coordinates, and that the route
/// waits for its ids.
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

/// Whether the route waits for all ids of the rank.
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
        _ if matches!(graph.tensors[tensor].rows, RowKind::Expert(_)) => Amount::One,
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
    // The counter of a chunk's freed memory gets no signal for the last chunks, whose memory no other chunk reuses.
    let through = checked.counters()[wait.counter].through;
    let told = !through || checked.reuse().is_some_and(|reuse| reuse.frees == phase);
    // A wait reads counters of its own rank, but never those of scattered tokens.
    told && wait.index != Index::PieceBlocks
        && addresses(graph, phase, counter, wait.index)
        && home(graph, phase, wait.index, false).is_some()
}

/// The grid of a counter array, and whether its tensor holds once-sent rows; `None` if the array does not exist.
fn known(checked: &CheckedGraph, counter: crate::ids::CounterId) -> Option<(Grid, bool)> {
    let counters = checked.counters();
    ((counter.0 as usize) < counters.len()).then(|| {
        let once = checked.graph().tensors[counters[counter].tensor].rows == RowKind::Once;
        (counters[counter].grid, once)
    })
}

/// Whether the index selects one counter of the grid for each tile, or the counters of its blocks for each piece.
fn addresses(graph: &TaskGraph, phase: PhaseId, (grid, once): (Grid, bool), index: Index) -> bool {
    let space = graph.spaces[graph.phases[phase].space];
    let received = !space.by_chunk() && space.kind != SpaceKind::SendsOnce;
    match (grid, index) {
        // Once-sent rows differ from the rows received for each (token, k).
        (Grid::RowTiles { space: tiles, columns: 1 }, Index::RowTile) if once => {
            space.kind == SpaceKind::SendsOnce && graph.spaces[tiles].height.holds(space.height)
        }
        (Grid::RowTiles { columns: 1, .. }, Index::OnceTiles) => once && space.kind == SpaceKind::RowTiles,
        (Grid::RowTiles { space: tiles, columns }, Index::RowTile | Index::Tile) => {
            let wanted = if index == Index::Tile { graph.phases[phase].columns() } else { 1 };
            // Each item lies in one row tile.
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

/// The rank of a counter, relative to a row that the tile touches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Home {
    /// The rank that received the row.
    Owner,
    /// The rank that the token belongs to.
    Source,
}

/// The rank of the counters that a tile of the phase addresses; `None` if a tile can't address them.
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
mod tests;
