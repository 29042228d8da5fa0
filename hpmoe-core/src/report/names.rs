//! Names of the parts of a graph, for people.

use crate::analyze::{Amount, CheckedGraph, Grid, Index, Signal, Wait};
use crate::graph::{Height, SpaceKind, TaskGraph};
use crate::ids::{CounterId, SpaceId};
use crate::schedule::{Elision, Implied, Schedule};
use hpmoe_kernels::op::TaskKind;

/// The name of the cores that run a kind of task.
pub(super) fn core(core: TaskKind) -> &'static str {
    match core {
        TaskKind::Matrix => "matrix",
        TaskKind::Vector => "vector",
        TaskKind::Put => "put",
    }
}

/// The name of a space, as in `row tiles of 128`.
pub(super) fn space(graph: &TaskGraph, id: SpaceId) -> String {
    let space = graph.spaces[id];
    if space.height == Height::WholeExpert {
        return if space.kind == SpaceKind::Experts { "experts" } else { "experts with rows" }.to_owned();
    }
    let kind = match space.kind {
        SpaceKind::Experts => "experts of",
        SpaceKind::RowTiles => "row tiles of",
        SpaceKind::Sends => "sends of",
        SpaceKind::SendsOnce => "sends once of",
        SpaceKind::OnceTiles => "row tiles sent once of",
        SpaceKind::Arrivals => "arrivals of",
        SpaceKind::Blocks => "blocks of",
        SpaceKind::Chunks => return "chunks".to_owned(),
    };
    format!("{kind} {}", space.height)
}

/// The name of a counter array, as in `recv per row tile of 128`.
pub(super) fn counter(checked: &CheckedGraph, id: CounterId) -> String {
    let graph = checked.graph();
    let counter = checked.counters()[id];
    let tensor = &graph.tensors[counter.tensor].name;
    match counter.grid {
        Grid::RowTiles { space, columns: 1 } => format!("{tensor} per row tile of {}", graph.spaces[space].height),
        Grid::RowTiles { space, columns } => {
            format!("{tensor} per row tile of {} and each of {columns} columns", graph.spaces[space].height)
        }
        Grid::Experts => format!("{tensor} per expert"),
        Grid::Blocks { height } => format!("{tensor} per block of {height} tokens"),
        Grid::Rank => format!("{tensor} per rank"),
    }
}

/// A signal, as in `c0[row tile] += rows at the peer`.
pub(super) fn signal(signal: &Signal) -> String {
    let amount = match signal.amount {
        Amount::Rows => "rows",
        Amount::One => "1",
    };
    let place = if signal.remote { " at the peer" } else { "" };
    format!("c{}[{}] += {amount}{place}", signal.counter.0, index(signal.index))
}

/// A wait, as in `c0[row tile] >= 4 per 32 rows`.
pub(super) fn wait(wait: &Wait) -> String {
    format!("c{}[{}] >= {}", wait.counter.0, index(wait.index), wait.need)
}

fn index(index: Index) -> &'static str {
    match index {
        Index::RowTile => "row tile",
        Index::Tile => "tile",
        Index::Expert => "expert",
        Index::OnceTiles => "row tiles of its tokens",
        Index::Block => "block",
        Index::PieceBlocks => "blocks of the piece",
        Index::Rank => "rank",
    }
}

/// The elision of a dependency; `None` if it has a wait.
pub(super) fn elided(schedule: &Schedule, dependency: usize) -> Option<&Elision> {
    schedule.elided.iter().find(|elision| elision.dependency == dependency)
}

/// The reason in words.
pub(super) fn reason(graph: &TaskGraph, implied: &Implied) -> String {
    match implied {
        Implied::Path(path) => {
            let names: Vec<String> = path.iter().map(|&id| graph.phase_name(id)).collect();
            format!("by the path {}", names.join(", "))
        }
        Implied::QueueOrder { later, .. } => {
            format!("the same core makes the same tile of {} after it", graph.phase_name(*later))
        }
        Implied::SameCore => "the same core has made the same tile".to_owned(),
        Implied::AlreadyAwaited { by } => format!("the same core has waited in {}", graph.phase_name(*by)),
    }
}
