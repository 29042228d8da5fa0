//! Parts of a kernel's tables that its memory depends on.

/// An iteration space.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SpaceTable {
    /// Kind of the space, an `HpmoeSpaceKind` of the ABI.
    pub kind: u32,
    /// Maximum number of rows of an item; for whole experts, `RAGGED`.
    pub height: u32,
}

/// The rule for the number of counters in an array.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Grid {
    /// `columns` counters for each row tile of a space.
    RowTiles {
        /// Number of the space.
        space: u32,
        /// Counters per row tile.
        columns: u32,
    },
    /// One counter per expert chunk of the rank.
    Experts,
    /// One counter per block of `height` tokens, in each chunk.
    Blocks {
        /// Tokens per block.
        height: u32,
    },
    /// One counter for each chunk of the rank.
    Rank,
}
