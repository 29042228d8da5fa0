//! The tiles of all phases on the instance.

use super::instance::{Instance, RANKS, Row, experts_of, owner};
use hpmoe_language::graph::{Access, Columns, Phase, Rows, SpaceKind, TaskGraph};
use hpmoe_language::ids::{PhaseId, TensorId};
use std::collections::BTreeSet;
use std::ops::Range;

/// An item of a phase's space and one of its columns.
#[derive(Clone, Debug)]
pub(super) struct Tile {
    pub(super) phase: PhaseId,
    /// The rank that runs it.
    pub(super) rank: usize,
    /// The item's peer, or the rank itself.
    pub(super) peer: usize,
    /// The expert, counted over all ranks; 0 for blocks.
    pub(super) expert: usize,
    /// Rows of the expert, or for blocks tokens of the rank.
    pub(super) rows: Range<usize>,
    /// The column, which counts the phase's ranges.
    pub(super) column: u32,
}

/// All tiles, phase after phase. A phase has columns enough to meet all others as all of its columns would.
pub(super) fn tiles(graph: &TaskGraph, instance: &Instance) -> Vec<Tile> {
    let mut tiles = Vec::new();
    for (id, phase) in graph.phases.iter() {
        let columns = columns(graph, phase);
        for item in (0..RANKS).flat_map(|rank| items(graph, instance, id, rank)) {
            tiles.extend(columns.iter().map(|&column| Tile { column, ..item.clone() }));
        }
    }
    tiles
}

/// The value of one range in a column, outermost range first.
fn coordinate(phase: &Phase, column: u32, range: usize) -> u32 {
    let inner: u32 = phase.ranges[range + 1..].iter().product();
    column / inner % phase.ranges[range]
}

/// Columns, or rows of an expert's matrix, that are cut into regions of one size: which of them an access is about.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    /// The range that counts them, if one does.
    range: Option<usize>,
    /// Otherwise, the number of the region.
    index: u32,
    size: u32,
}

impl Step {
    pub(super) fn of_columns(access: &Access) -> Option<Self> {
        match access.region.columns {
            Columns::Tile { range, index, width } => Some(Self::new(range, index, width)),
            Columns::All => None,
        }
    }

    pub(super) fn of_rows(access: &Access) -> Option<Self> {
        match access.region.rows {
            Rows::Expert { range, index, height } => Some(Self::new(range, index, height)),
            _ => None,
        }
    }

    fn new(range: Option<u32>, index: u32, size: u32) -> Self {
        Self { range: range.map(|range| range as usize), index, size }
    }

    /// The columns or rows in a column of the phase.
    pub(super) fn span(self, phase: &Phase, column: u32) -> Range<u32> {
        let index = self.range.map_or(self.index, |range| coordinate(phase, column, range));
        index.saturating_mul(self.size)..(index + 1).saturating_mul(self.size)
    }
}

/// Items of a phase on one rank, each with its first column.
fn items(graph: &TaskGraph, instance: &Instance, phase: PhaseId, rank: usize) -> Vec<Tile> {
    let space = graph.spaces[graph.phases[phase].space];
    let height = match space.kind {
        SpaceKind::Blocks => instance.height_of_blocks(space.height),
        _ => instance.height_of_rows(space.height),
    };
    let once = space.kind == SpaceKind::SendsOnce;
    let item = |peer, expert, rows| Tile { phase, rank, peer, expert, rows, column: 0 };
    let from = |source: usize, expert: usize| cut(rows_from(instance.rows(once, expert), source), height);
    let all_experts = (0..RANKS).flat_map(experts_of);
    match space.kind {
        SpaceKind::RowTiles => experts_of(rank)
            .flat_map(|expert| {
                let rows = cut(0..instance.rows(false, expert).len(), height);
                rows.into_iter().map(move |rows| item(rank, expert, rows))
            })
            .collect(),
        SpaceKind::Experts => {
            experts_of(rank).map(|expert| item(rank, expert, 0..instance.rows(false, expert).len())).collect()
        }
        SpaceKind::Sends | SpaceKind::SendsOnce => all_experts
            .flat_map(|expert| from(rank, expert).into_iter().map(move |rows| item(owner(expert), expert, rows)))
            .collect(),
        SpaceKind::Arrivals => experts_of(rank)
            .flat_map(|expert| (0..RANKS).map(move |source| (source, expert)))
            .flat_map(|(source, expert)| from(source, expert).into_iter().map(move |rows| item(source, expert, rows)))
            .collect(),
        SpaceKind::Blocks => {
            cut(0..instance.tokens[rank], height).into_iter().map(|tokens| item(rank, 0, tokens)).collect()
        }
        // Counters alone stand for the former; of the latter, order itself takes care.
        SpaceKind::OnceTiles | SpaceKind::Chunks => Vec::new(),
    }
}

/// Rows that come from a source, which lie together.
fn rows_from(rows: &[Row], source: usize) -> Range<usize> {
    let first = rows.partition_point(|row| row.source < source);
    first..rows.partition_point(|row| row.source <= source)
}

/// A range, cut at the multiples of a height.
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

/// Columns of a phase: the product of some values of each range.
fn columns(graph: &TaskGraph, phase: &Phase) -> Vec<u32> {
    let mut columns = vec![0];
    for (range, &length) in phase.ranges.iter().enumerate() {
        let values = values(graph, phase, range, length);
        columns = columns.iter().flat_map(|&outer| values.iter().map(move |value| outer * length + value)).collect();
    }
    columns
}

/// The most values of a range that are all looked at.
const ALL: u32 = 4;

/// The values of a range that are looked at: all, or, as regions move with their ranges, the first two and the last,
/// and those that meet a region which doesn't move.
fn values(graph: &TaskGraph, phase: &Phase, range: usize, length: u32) -> BTreeSet<u32> {
    if length <= ALL {
        return (0..length).collect();
    }
    let mut values = BTreeSet::from([0, 1, length - 1]);
    for access in &phase.accesses {
        for step_of in [Step::of_columns, Step::of_rows] {
            if let Some(Step { size, .. }) = step_of(access).filter(|step| step.range == Some(range)) {
                let fixed = fixed(graph, access.tensor, step_of);
                values.extend(fixed.into_iter().flat_map(|span| span.start / size..span.end.div_ceil(size)));
            }
        }
    }
    values.into_iter().filter(|&value| value < length).collect()
}

/// Columns of a tensor, or rows of an expert's matrix, that phases touch whatever their ranges; of a region its two ends.
fn fixed(graph: &TaskGraph, tensor: TensorId, step_of: fn(&Access) -> Option<Step>) -> Vec<Range<u32>> {
    let accesses = graph.phases.iter().flat_map(|(_, phase)| &phase.accesses).filter(|access| access.tensor == tensor);
    let steps = accesses.filter_map(step_of).filter(|step| step.range.is_none());
    steps.flat_map(|step| ends(step.index, step.size)).collect()
}

/// The first and the last of `size` places from `index * size` on.
fn ends(index: u32, size: u32) -> [Range<u32>; 2] {
    let (first, end) = (index.saturating_mul(size), (index + 1).saturating_mul(size));
    [first..first + 1, end - 1..end]
}
