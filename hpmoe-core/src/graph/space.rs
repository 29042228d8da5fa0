//! Iteration spaces: the items that the loops around a call run over, seen from the rank that executes the call.

use super::{Height, Sizes};
use hpmoe_kernels::abi;

/// The kind of the items of a space, and how they form groups.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum SpaceKind {
    /// Row tiles of the rows received for each local expert; one group per expert chunk.
    RowTiles,
    /// Local experts, each with all its rows, even if it has none; one group per expert chunk, with one item.
    Experts,
    /// Pieces of the rows that this rank sends, cut at the receiver's row tiles; one group for each expert chunk of each owner.
    Sends,
    /// Pieces of the tokens that this rank sends once to each rank, cut at the receiver's row tiles of once-sent rows; one group for each
    /// expert chunk of each owner. A token is in the group of the lowest-numbered of the owner's experts that it goes to.
    SendsOnce,
    /// Row tiles of once-sent rows; one group per expert chunk. No phase runs over this space, but counters cover its items.
    OnceTiles,
    /// Pieces of the rows that this rank received; one group for each pair of a source rank and an expert chunk of this rank.
    Arrivals,
    /// Blocks of consecutive tokens of this rank; one group per chunk.
    Blocks,
    /// Chunks; one group per chunk. The group has one item if a later chunk reuses the chunk's memory, otherwise none.
    Chunks,
}

/// One iteration space: a kind of items and their height.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Space {
    /// The kind of the space's items.
    pub kind: SpaceKind,
    /// The maximum number of rows of an item; for blocks, of tokens.
    pub height: Height,
}

impl SpaceKind {
    /// The number that stands for the kind in the ABI.
    #[must_use]
    pub const fn number(self) -> abi::HpmoeSpaceKind {
        match self {
            Self::RowTiles => abi::HPMOE_ROW_TILES,
            Self::Sends => abi::HPMOE_SENDS,
            Self::Arrivals => abi::HPMOE_ARRIVALS,
            Self::Blocks => abi::HPMOE_BLOCKS,
            Self::Experts => abi::HPMOE_EXPERTS,
            Self::Chunks => abi::HPMOE_CHUNKS,
            Self::SendsOnce => abi::HPMOE_SENDS_ONCE,
            Self::OnceTiles => abi::HPMOE_ONCE_TILES,
        }
    }

    /// Whether the items are pieces that this rank sends.
    #[must_use]
    pub const fn sends(self) -> bool {
        matches!(self, Self::Sends | Self::SendsOnce)
    }

    /// Whether each group belongs to a pair of an expert and a peer.
    #[must_use]
    pub const fn by_peer(self) -> bool {
        matches!(self, Self::Sends | Self::SendsOnce | Self::Arrivals)
    }
}

impl Space {
    /// The number of groups on each of `ranks` ranks.
    #[must_use]
    pub fn groups(&self, sizes: &Sizes, ranks: usize) -> usize {
        match self.kind {
            SpaceKind::RowTiles | SpaceKind::OnceTiles | SpaceKind::Experts => sizes.expert_chunks(ranks),
            SpaceKind::Sends | SpaceKind::SendsOnce | SpaceKind::Arrivals => sizes.expert_chunks(ranks) * ranks,
            SpaceKind::Blocks | SpaceKind::Chunks => sizes.chunks,
        }
    }

    /// Whether the space's groups are chunks, rather than expert chunks or pairs.
    #[must_use]
    pub const fn by_chunk(&self) -> bool {
        matches!(self.kind, SpaceKind::Blocks | SpaceKind::Chunks)
    }
}
