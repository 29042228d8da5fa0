//! Dependencies: a writer and a reader of the same elements, with the counter that would order them.

use super::readiness::{Amount, Counter, Cover, Dependency, Grid, Hazard, Index, Need, Signal, Wait};
use crate::graph::{Access, Columns, Height, Phase, RowKind, Rows, Space, SpaceKind, TaskGraph};
use crate::ids::{Arena, CounterId, PhaseId, SpaceId, TensorId};
use hpmoe_kernels::op::TaskKind;

/// Finds all dependencies and the counters they could use. May add row-tile spaces that only counters need.
pub(super) fn dependencies(graph: &mut TaskGraph) -> (Arena<CounterId, Counter>, Vec<Dependency>) {
    let mut counters = Arena::new();
    let mut dependencies = Vec::new();
    for tensor in graph.tensors.ids() {
        let writers = uses(graph, tensor, true);
        for reader in uses(graph, tensor, false) {
            let earlier: Vec<Use> = writers.iter().copied().filter(|writer| writer.phase < reader.phase).collect();
            let Some(grid) = grid(graph, tensor, &earlier, reader) else { continue };
            let counter = Counter { tensor, grid, through: false };
            let counter = counters.position(|known| *known == counter).unwrap_or_else(|| counters.push(counter));
            let need = need(graph, &earlier, grid);
            for writer in earlier {
                dependencies.push(Dependency {
                    before: writer.phase,
                    after: reader.phase,
                    tensor,
                    hazard: Hazard::ReadAfterWrite,
                    cover: Cover::Counter,
                    signal: Signal {
                        counter,
                        index: index(writer, grid),
                        amount: amount(graph, writer),
                        remote: writer.remote,
                    },
                    wait: Wait { counter, index: index(reader, grid), need: need.clone() },
                });
            }
        }
    }
    (counters, dependencies)
}

/// One access of a tensor.
#[derive(Clone, Copy, Debug)]
struct Use {
    phase: PhaseId,
    rows: Rows,
    columns: Columns,
    remote: bool,
}

/// The uses of a tensor by each phase, in program order. Writing or reading origins is a use, too.
fn uses(graph: &TaskGraph, tensor: TensorId, write: bool) -> Vec<Use> {
    let of_phase = |(phase, of): (PhaseId, &Phase)| {
        let as_use = |access: &Access| Use {
            phase,
            rows: access.region.rows,
            columns: access.region.columns,
            remote: access.remote,
        };
        let origins = of.origins.filter(|origins| origins.tensor == tensor && origins.write == write);
        let origins = origins.map(|_| Use { phase, rows: Rows::Piece, columns: Columns::All, remote: write });
        of.accesses_of(tensor, write).map(as_use).chain(origins).collect::<Vec<_>>()
    };
    graph.phases.iter().flat_map(of_phase).collect()
}

fn space(graph: &TaskGraph, used: Use) -> Space {
    graph.spaces[graph.phases[used.phase].space]
}

/// The part of the tensor that one counter stands for: the reader's tile if the writers' tiles nest with it, else a coarser one.
/// `None` if nothing writes the tensor.
fn grid(graph: &mut TaskGraph, tensor: TensorId, writers: &[Use], reader: Use) -> Option<Grid> {
    let height = |used: &Use| space(graph, *used).height;
    let own = height(&reader);
    let [first, ..] = writers else { return None };
    // The height that all others divide. Pieces that come back count for the blocks of their tokens, whatever their height.
    let mut nested = writers.iter().filter(|writer| writer.rows != Rows::Scatter).map(height);
    let common = nested.try_fold(own, Height::common);
    Some(match graph.tensors[tensor].rows {
        RowKind::Expert(_) | RowKind::Matrix(_) => Grid::Experts,
        RowKind::Routed => Grid::Rank,
        RowKind::Received => {
            let by_expert = writers.iter().chain([&reader]).any(|used| used.rows == Rows::Group);
            match common.filter(|_| !by_expert) {
                Some(height) => {
                    let columns = shared_columns(graph, writers, reader).unwrap_or(1);
                    Grid::RowTiles { space: tiles(graph, SpaceKind::RowTiles, height), columns }
                }
                None => Grid::Experts,
            }
        }
        // One put writes all of it. A reader waits for all tiles that contain its rows, whatever their height.
        RowKind::Once => {
            let sent = height(first);
            let height = own.common(sent).unwrap_or(sent);
            Grid::RowTiles { space: tiles(graph, SpaceKind::OnceTiles, height), columns: 1 }
        }
        // A send has rows of any block.
        RowKind::Token | RowKind::Slot if matches!(reader.rows, Rows::Gather | Rows::Scatter) => Grid::Rank,
        RowKind::Token | RowKind::Slot => match common {
            Some(height) => Grid::Blocks { height: height.number() },
            None => Grid::Rank,
        },
    })
}

fn tiles(graph: &mut TaskGraph, kind: SpaceKind, height: Height) -> SpaceId {
    let wanted = Space { kind, height };
    graph.spaces.position(|space| *space == wanted).unwrap_or_else(|| graph.spaces.push(wanted))
}

/// The number of column tiles per row tile if writers and reader cut the columns alike, by their only range; each column tile then has a
/// counter. `None` otherwise.
fn shared_columns(graph: &TaskGraph, writers: &[Use], reader: Use) -> Option<u32> {
    let cut = |used: Use| {
        let phase = &graph.phases[used.phase];
        match used.columns {
            Columns::Tile { range: Some(0), index: 0, width } if phase.ranges.len() == 1 && used.rows == Rows::Tile => {
                Some((phase.space, width, phase.ranges[0]))
            }
            _ => None,
        }
    };
    let own = cut(reader)?;
    writers.iter().all(|writer| cut(*writer) == Some(own)).then_some(own.2)
}

fn index(used: Use, grid: Grid) -> Index {
    match grid {
        Grid::RowTiles { .. } if used.rows == Rows::Once => Index::OnceTiles,
        Grid::RowTiles { columns: 1, .. } => Index::RowTile,
        Grid::RowTiles { .. } => Index::Tile,
        Grid::Experts => Index::Expert,
        Grid::Blocks { .. } if used.rows == Rows::Scatter => Index::PieceBlocks,
        Grid::Blocks { .. } => Index::Block,
        Grid::Rank => Index::Rank,
    }
}

fn amount(graph: &TaskGraph, writer: Use) -> Amount {
    match graph.tasks[graph.phases[writer.phase].task].kind {
        _ if matches!(writer.rows, Rows::Expert { .. }) => Amount::One,
        TaskKind::Matrix => Amount::One,
        TaskKind::Vector | TaskKind::Put => Amount::Rows,
    }
}

/// The signals and the wait that show that a tensor's rows of a chunk are complete on a rank. Every phase before `end` that writes the
/// tensor signals. `None` if no such phase writes it.
pub(super) fn complete(
    graph: &TaskGraph,
    tensor: TensorId,
    end: PhaseId,
    counters: &mut Arena<CounterId, Counter>,
) -> Option<(Vec<(PhaseId, Signal)>, Wait)> {
    let writers: Vec<Use> = uses(graph, tensor, true).into_iter().filter(|writer| writer.phase < end).collect();
    if writers.is_empty() {
        return None;
    }
    let (grid, index) = (Grid::Rank, Index::Rank);
    let counter = Counter { tensor, grid, through: false };
    let counter = counters.position(|known| *known == counter).unwrap_or_else(|| counters.push(counter));
    let signal = |used: &Use| Signal { counter, index, amount: amount(graph, *used), remote: used.remote };
    let signals = writers.iter().map(|used| (used.phase, signal(used))).collect();
    Some((signals, Wait { counter, index, need: need(graph, &writers, grid) }))
}

/// The amount that each tile of a phase adds to a rank's counter when the tile no longer needs its part of a tensor, and the sum over all
/// tiles of the phase.
pub(super) fn through(graph: &TaskGraph, phase: PhaseId, tensor: TensorId) -> (Amount, Need) {
    let mut all = uses(graph, tensor, false).into_iter().chain(uses(graph, tensor, true));
    let used = all.find(|used| used.phase == phase);
    let used = used.expect("the phase touches the tensor");
    (amount(graph, used), need(graph, &[used], Grid::Rank))
}

/// The formula of the sum that all writers together add to one counter of a grid.
fn need(graph: &TaskGraph, writers: &[Use], grid: Grid) -> Need {
    let mut need = Need::default();
    for writer in writers {
        let phase = &graph.phases[writer.phase];
        let times = match grid {
            Grid::RowTiles { columns, .. } if columns > 1 => 1,
            _ => phase.columns(),
        };
        // A counter of tokens counts slots of each token that are not empty.
        let by_slot = matches!(writer.rows, Rows::Scatter | Rows::Gather);
        match amount(graph, *writer) {
            Amount::Rows if by_slot => need.per_slot += times,
            Amount::Rows => need.per_row += times,
            Amount::One if space(graph, *writer).kind == SpaceKind::Experts => need.fixed += times,
            Amount::One => need.pieces.push((space(graph, *writer).height, times)),
        }
    }
    need.pieces.sort_unstable();
    need
}
