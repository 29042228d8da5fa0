//! The tiles of all phases on the instance.

use super::instance::{Instance, Row, experts_of, owner, ranks};
use crate::collections::SortedSet;
use crate::graph::{Access, Columns, Phase, Rows, SpaceKind, TaskGraph};
use crate::ids::{Arena, PhaseId, TensorId};
use std::ops::Range;

/// A tile of a phase: an item of its space and one of its columns.
#[derive(Clone, Debug)]
pub(super) struct Tile {
    pub(super) phase: PhaseId,
    /// The rank that runs it.
    pub(super) rank: usize,
    /// The item's peer, or the rank itself.
    pub(super) peer: usize,
    /// The expert, counted over all ranks; 0 for blocks.
    pub(super) expert: usize,
    /// Rows of the expert; for blocks, tokens of the rank.
    pub(super) rows: Range<usize>,
    /// The column: an index over the phase's ranges.
    pub(super) column: u32,
}

/// All tiles, phase by phase. Each phase has only some of its columns, but enough to meet other phases in every way.
pub(super) fn tiles(graph: &TaskGraph, instance: &Instance) -> Vec<Tile> {
    let mut tiles = Vec::new();
    let values = values_of_all(graph);
    for (id, phase) in graph.phases.iter() {
        let columns = columns(phase, &values[id]);
        for rank in ranks() {
            for (peer, expert, rows) in items(graph, instance, id, rank) {
                let tile = |&column| Tile { phase: id, rank, peer, expert, rows: rows.clone(), column };
                tiles.extend(columns.iter().map(tile));
            }
        }
    }
    tiles
}

/// The step of one of a phase's ranges in which a column is computed. Columns are numbered with the first range outermost.
fn coordinate(phase: &Phase, column: u32, range: usize) -> u32 {
    let inner: u32 = phase.ranges[range + 1..].iter().product();
    column / inner % phase.ranges[range]
}

/// A division of columns, or of rows of an expert's matrix, into regions of the same size, and the regions that an access
/// refers to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cut {
    /// The range that counts the regions; `None` if the access has a single region.
    range: Option<usize>,
    /// The number of the only region, or of the region at the range's first value.
    index: u32,
    size: u32,
    /// Start of the first region, and the end that no region exceeds.
    from: u32,
    end: u32,
}

impl Cut {
    pub(super) fn of_columns(access: &Access) -> Option<Self> {
        match access.region.columns {
            Columns::Tile { range, index, width } => Some(Self::new(range, index, width, 0..u32::MAX)),
            Columns::All => None,
        }
    }

    pub(super) fn of_rows(access: &Access) -> Option<Self> {
        match access.region.rows {
            Rows::Expert { range, index, height, outer } => {
                Some(Self::new(range, index, height, outer.first..outer.first + outer.rows))
            }
            _ => None,
        }
    }

    fn new(range: Option<u32>, index: u32, size: u32, within: Range<u32>) -> Self {
        Self { range: range.map(|range| range as usize), index, size, from: within.start, end: within.end }
    }

    /// The columns or rows that contain all regions.
    pub(super) const fn whole(self) -> Range<u32> {
        self.from..self.end
    }

    /// The first column or row of a region.
    fn first(self, region: u32) -> u32 {
        self.from.saturating_add(region.saturating_mul(self.size)).min(self.end)
    }

    /// The region that contains a column or a row.
    fn holding(self, at: u32) -> Option<u32> {
        Some(at.checked_sub(self.from).filter(|_| at < self.end)? / self.size)
    }

    /// The columns or rows of the region that the access refers to in a column of the phase.
    pub(super) fn span(self, phase: &Phase, column: u32) -> Range<u32> {
        let index = self.index + self.range.map_or(0, |range| coordinate(phase, column, range));
        self.first(index)..self.first(index.saturating_add(1))
    }
}

/// Peer, expert and rows of a tile.
type TileItem = (usize, usize, Range<usize>);

/// The items of a phase on one rank.
fn items(graph: &TaskGraph, instance: &Instance, phase: PhaseId, rank: usize) -> Vec<TileItem> {
    let space = graph.spaces[graph.phases[phase].space];
    let height = match space.kind {
        SpaceKind::Blocks => instance.height_of_blocks(space.height),
        _ => instance.height_of_rows(space.height),
    };
    let once = space.kind == SpaceKind::SendsOnce;
    let from = |source: usize, expert: usize| cut(rows_from(instance.rows(once, expert), source), height);
    let all_experts = ranks().flat_map(experts_of);
    match space.kind {
        SpaceKind::RowTiles => experts_of(rank)
            .flat_map(|expert| {
                let rows = cut(0..instance.rows(false, expert).len(), height);
                rows.into_iter().map(move |rows| (rank, expert, rows))
            })
            .collect(),
        SpaceKind::Experts => {
            experts_of(rank).map(|expert| (rank, expert, 0..instance.rows(false, expert).len())).collect()
        }
        SpaceKind::Sends | SpaceKind::SendsOnce => all_experts
            .flat_map(|expert| from(rank, expert).into_iter().map(move |rows| (owner(expert), expert, rows)))
            .collect(),
        SpaceKind::Arrivals => experts_of(rank)
            .flat_map(|expert| ranks().map(move |source| (source, expert)))
            .flat_map(|(source, expert)| from(source, expert).into_iter().map(move |rows| (source, expert, rows)))
            .collect(),
        SpaceKind::Blocks => {
            cut(0..instance.tokens[rank], height).into_iter().map(|tokens| (rank, 0, tokens)).collect()
        }
        // Only counters use once-sent tiles; words order chunks.
        SpaceKind::OnceTiles | SpaceKind::Chunks => Vec::new(),
    }
}

/// The rows of an expert that came from a source, which are consecutive.
fn rows_from(rows: &[Row], source: usize) -> Range<usize> {
    let first = rows.partition_point(|row| row.source < source);
    first..rows.partition_point(|row| row.source <= source)
}

/// A range cut into pieces at the multiples of a height.
fn cut(all: Range<usize>, height: usize) -> Vec<Range<usize>> {
    let mut pieces = Vec::new();
    let mut start = all.start;
    while start < all.end {
        let end = (start / height + 1).saturating_mul(height).min(all.end);
        pieces.push(start..end);
        start = end;
    }
    pieces
}

/// The columns of a phase that result from some values of each range.
fn columns(phase: &Phase, values: &[SortedSet<u32>]) -> Vec<u32> {
    let mut columns = vec![0];
    for (values, &length) in values.iter().zip(&phase.ranges) {
        columns = columns.iter().flat_map(|&outer| values.iter().map(move |value| outer * length + value)).collect();
    }
    columns
}

/// If a range has at most this many values, all of them are used.
const ALL: u32 = 4;

/// The values of all phases' ranges that tiles are made for. If a tile is made, so is a tile of each other phase that
/// touches its first columns, or first rows of a matrix: phases may divide a tensor into tiles of different sizes.
fn values_of_all(graph: &TaskGraph) -> Arena<PhaseId, Vec<SortedSet<u32>>> {
    let of_phase = |phase: &Phase| {
        let ranges = phase.ranges.iter().enumerate();
        ranges.map(|(range, &length)| values(graph, phase, range, length)).collect::<Vec<_>>()
    };
    let mut all: Arena<PhaseId, Vec<SortedSet<u32>>> = graph.phases.iter().map(|(_, phase)| of_phase(phase)).collect();
    let looked_at =
        all.iter().flat_map(|(id, ranges)| ranges.iter().enumerate().map(move |(range, set)| (id, range, set)));
    let mut open: Vec<(PhaseId, usize, u32)> =
        looked_at.flat_map(|(id, range, set)| set.iter().map(move |&value| (id, range, value))).collect();
    while let Some((id, range, value)) = open.pop() {
        for (other, range, value) in meeting(graph, id, range, value) {
            if all[other][range].insert(value) {
                open.push((other, range, value));
            }
        }
    }
    all
}

/// The values of other phases' ranges whose tiles contain the first column, or first row of a matrix, of tiles with
/// this value.
fn meeting(graph: &TaskGraph, id: PhaseId, range: usize, value: u32) -> Vec<(PhaseId, usize, u32)> {
    let mut found = Vec::new();
    for access in &graph.phases[id].accesses {
        for cut_of in [Cut::of_columns, Cut::of_rows] {
            let Some(cut) = cut_of(access).filter(|cut| cut.range == Some(range)) else { continue };
            let first = cut.first(cut.index + value);
            for (other, phase) in graph.phases.iter() {
                let cuts = phase.accesses.iter().filter(|met| met.tensor == access.tensor).filter_map(cut_of);
                found.extend(cuts.filter_map(|met| {
                    let value = met.holding(first)?.checked_sub(met.index)?;
                    (value < phase.ranges[met.range?]).then_some((other, met.range?, value))
                }));
            }
        }
    }
    found
}

/// The values of a range for which tiles are made. For a short range, these are all values. Otherwise, they are the first two and the last,
/// because regions move along with their range, and those whose regions meet a region that doesn't move.
fn values(graph: &TaskGraph, phase: &Phase, range: usize, length: u32) -> SortedSet<u32> {
    if length <= ALL {
        return (0..length).collect();
    }
    let mut values: SortedSet<u32> = [0, 1, length - 1].into_iter().collect();
    for access in &phase.accesses {
        for cut_of in [Cut::of_columns, Cut::of_rows] {
            if let Some(cut) = cut_of(access).filter(|cut| cut.range == Some(range)) {
                let met = fixed(graph, access.tensor, cut_of).filter_map(|at| cut.holding(at));
                values.extend(met.filter_map(|region| region.checked_sub(cut.index)));
            }
        }
    }
    values.into_iter().filter(|&value| value < length).collect()
}

/// The columns of a tensor, or rows of an expert's matrix, of regions that don't move with a range or that don't start
/// at the first region: the first and last column or row of the first two such regions and of the last one.
fn fixed(
    graph: &TaskGraph,
    tensor: TensorId,
    cut_of: fn(&Access) -> Option<Cut>,
) -> impl Iterator<Item = u32> + use<'_> {
    let accesses = graph.phases.iter().flat_map(|(_, phase)| phase.accesses.iter().map(move |access| (phase, access)));
    let cuts = accesses.filter(move |(_, access)| access.tensor == tensor);
    let cuts = cuts.filter_map(move |(phase, access)| Some((phase, cut_of(access)?)));
    let moved = |cut: &Cut| cut.range.is_none() || cut.index > 0 || cut.from > 0;
    cuts.filter(move |(_, cut)| moved(cut)).flat_map(|(phase, cut)| {
        let last = cut.range.map_or(1, |range| phase.ranges[range]) - 1;
        [0, last.min(1), last].into_iter().flat_map(move |turn| {
            let (first, next) = (cut.first(cut.index + turn), cut.first(cut.index + turn + 1));
            [first, next.saturating_sub(1)]
        })
    })
}

#[cfg(test)]
mod tests;
