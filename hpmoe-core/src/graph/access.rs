//! The regions of tensors that a call reads and writes, in the coordinates of the call's iteration space.

use crate::ids::TensorId;

/// The rows of a region, on the rank that holds them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Rows {
    /// The row tile, in a tensor of received rows (space: row tiles).
    Tile,
    /// All rows of the item's expert, in a tensor of received rows (spaces: row tiles and experts).
    Group,
    /// The piece, in a tensor of received rows: on this rank for the space arrivals, at the peer for the space sends. In a
    /// tensor of once-sent rows: at the peer (space: sends once).
    Piece,
    /// The tokens of the piece, looked up through the route on this rank (spaces: sends and sends once).
    Gather,
    /// The tokens of the row tile, looked up through the route in a tensor of once-sent rows (space: row tiles).
    Once,
    /// The (token, k) slots of the piece: at the peer for the space arrivals, on this rank and only read for the space sends.
    Scatter,
    /// The block's tokens (space: blocks).
    Block,
    /// All `TOP_K` slots of the block's tokens (space: blocks).
    BlockSlots,
    /// Rows `[i * height, (i + 1) * height)` of an outer tile of a matrix, cut at the end of the outer tile. The matrix belongs to the
    /// item's expert or to the rank. `i` is `index` plus the value of `range`, if there is a range.
    Expert {
        /// The range that selects the tile, as an index into [`Phase::ranges`](super::Phase::ranges).
        range: Option<u32>,
        /// Number of the tile at the range's first value; without a range, number of the only tile.
        index: u32,
        /// The maximum number of rows of a tile.
        height: u32,
        /// The outer tile, from which tiles are taken.
        outer: Outer,
    },
}

/// An outer tile: the rows of a matrix that tiles are taken from, either all rows or the rows of one of several stacked matrices.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Outer {
    /// The first row, counted from the first row of the matrix.
    pub first: u32,
    /// The number of rows.
    pub rows: u32,
}

impl Outer {
    /// All rows of a matrix.
    #[must_use]
    pub const fn whole(rows: u32) -> Self {
        Self { first: 0, rows }
    }
}

/// The columns of a region.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Columns {
    /// All columns of the tensor.
    All,
    /// Columns `[i * width, (i + 1) * width)`, cut at the end of the tensor. `i` is `index` plus the value of `range`, if there is a range.
    Tile {
        /// The range that selects the tile, as an index into [`Phase::ranges`](super::Phase::ranges).
        range: Option<u32>,
        /// Number of the tile at the range's first value; without a range, number of the only tile.
        index: u32,
        /// The maximum number of columns of a tile.
        width: u32,
    },
}

/// The rectangle of a tensor that one tile of a phase touches.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Region {
    /// The rows that the tile touches.
    pub rows: Rows,
    /// The columns that the tile touches.
    pub columns: Columns,
}

/// One argument of a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Access {
    /// The tensor that the argument is a tile of.
    pub tensor: TensorId,
    /// The part of the tensor that each tile of the phase touches.
    pub region: Region,
    /// Whether the task takes the argument by `&mut`: the task then writes the region or, with `+=`, adds to it.
    pub write: bool,
    /// Whether the region lies on the item's peer (a put's target), rather than on the executing rank.
    pub remote: bool,
}
