//! Iteration spaces: what the loops around a call run over, seen from the rank that executes it.

/// What the items of a space are.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum SpaceKind {
    /// Row tiles of the rows received for each expert of this rank; one group per expert.
    RowTiles,
    /// Each expert of this rank with all its rows, even where it has none; one group per expert, with one item.
    Experts,
    /// Pieces of what this rank sends, cut at the receiver's row tiles; one group per (owner, its expert).
    Sends,
    /// Pieces of what this rank received; one group per (source, own expert).
    Arrivals,
    /// Blocks of consecutive tokens of this rank; one group.
    Blocks,
}

/// One iteration space.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Space {
    /// What its items are.
    pub kind: SpaceKind,
    /// Most rows (tokens, for blocks) of an item; [`RAGGED`](hpmoe_kernels::RAGGED) where it has all of an expert.
    pub height: u32,
}

impl Space {
    /// Number of groups on one rank of a group of `ranks` ranks.
    #[must_use]
    pub fn groups(&self, experts: usize, ranks: usize) -> usize {
        match self.kind {
            SpaceKind::RowTiles | SpaceKind::Experts => experts / ranks,
            SpaceKind::Sends | SpaceKind::Arrivals => experts,
            SpaceKind::Blocks => 1,
        }
    }
}
