//! Iteration spaces: what the loops around a call run over, seen from the rank that executes it.

use super::{Height, Sizes};

/// What the items of a space are.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum SpaceKind {
    /// Row tiles of the rows received for each expert of this rank; one group per expert.
    RowTiles,
    /// Each expert of this rank with all its rows, even where it has none; one group per expert, with one item.
    Experts,
    /// Pieces of what this rank sends, cut at the receiver's row tiles; one group per (owner, its expert).
    Sends,
    /// Pieces of the tokens that this rank sends once to each rank, cut where row tiles of such rows are cut; one group per
    /// (owner, its expert): a token counts for the first of the owner's experts that it goes to.
    SendsOnce,
    /// Row tiles of the rows that are sent once; one group per expert of this rank. Only counters stand for them.
    OnceTiles,
    /// Pieces of what this rank received; one group per (source, own expert).
    Arrivals,
    /// Blocks of consecutive tokens of this rank; one group per chunk.
    Blocks,
    /// Each chunk whose memory another one takes; one group per chunk, with one item or none.
    Chunks,
}

/// One iteration space.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Space {
    /// What its items are.
    pub kind: SpaceKind,
    /// Most rows (tokens, for blocks) of an item.
    pub height: Height,
}

impl SpaceKind {
    /// Whether its items are pieces of what this rank sends.
    #[must_use]
    pub const fn sends(self) -> bool {
        matches!(self, Self::Sends | Self::SendsOnce)
    }
}

impl Space {
    /// Number of groups on one rank of a group of `ranks` ranks.
    #[must_use]
    pub fn groups(&self, sizes: &Sizes, ranks: usize) -> usize {
        match self.kind {
            SpaceKind::RowTiles | SpaceKind::OnceTiles | SpaceKind::Experts => sizes.expert_chunks(ranks),
            SpaceKind::Sends | SpaceKind::SendsOnce | SpaceKind::Arrivals => sizes.expert_chunks(ranks) * ranks,
            SpaceKind::Blocks | SpaceKind::Chunks => sizes.chunks,
        }
    }

    /// Whether its groups are chunks, not experts of chunks.
    #[must_use]
    pub const fn by_chunk(&self) -> bool {
        matches!(self.kind, SpaceKind::Blocks | SpaceKind::Chunks)
    }
}
