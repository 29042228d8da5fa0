//! What a call reads and writes: a region of a tensor, in the coordinates of the call's iteration space.

use crate::ids::TensorId;

/// Which rows of the tensor, on the rank where they lie.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Rows {
    /// The row tile itself, in a tensor of received rows (space: row tiles).
    Tile,
    /// All rows of the item's expert, in a tensor of received rows (spaces: row tiles and experts).
    Group,
    /// The piece, in a tensor of received rows. Space arrivals: on this rank; space sends: at the peer. In a tensor of rows
    /// sent once: at the peer (space: sends once).
    Piece,
    /// The tokens of the piece, read through the route on this rank (spaces: sends, each (token, k) by itself or once).
    Gather,
    /// The tokens of the row tile, read through the route in a tensor of rows sent once (space: row tiles).
    Once,
    /// The (token, k) slots of the piece: space arrivals: at the peer; space sends: on this rank, for reading.
    Scatter,
    /// The block's tokens (space: blocks).
    Block,
    /// All `TOP_K` slots of the block's tokens (space: blocks).
    BlockSlots,
    /// Rows `[index * height, …)` of the item's expert, or of the rank's matrix; `range` tells which constant range gives the index (a fixed
    /// index where `None`).
    Expert {
        /// Which of the phase's ranges, outermost first, or none.
        range: Option<u32>,
        /// The index where no range gives it.
        index: u32,
        /// Most rows.
        height: u32,
    },
}

/// Which columns of the tensor.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Columns {
    /// All of them.
    All,
    /// Columns `[index * width, …)`, as for [`Rows::Expert`].
    Tile {
        /// Which of the phase's ranges, outermost first, or none.
        range: Option<u32>,
        /// The index where no range gives it.
        index: u32,
        /// Most columns.
        width: u32,
    },
}

/// A rectangle of a tensor.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Region {
    /// Which rows.
    pub rows: Rows,
    /// Which columns.
    pub columns: Columns,
}

/// One argument of a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Access {
    /// Which tensor.
    pub tensor: TensorId,
    /// Which part of it.
    pub region: Region,
    /// `&mut` in the task's signature.
    pub write: bool,
    /// The part lies on the item's peer (a put's target), not on the executing rank.
    pub remote: bool,
}
