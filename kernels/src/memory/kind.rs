//! Kinds of rows and of memory.

/// What the rows of a tensor stand for, on each rank, and so how many there are.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum RowKind {
    /// One row per token of the rank.
    Token,
    /// `TOP_K` rows per token of the rank: the slot of (token, k) is row `token * TOP_K + k`.
    Slot,
    /// One row per token routed to an expert of the rank, ordered by expert, then source rank, then (token, k).
    Received,
    /// One row per token routed to the rank, however many of its experts the token goes to: ordered by the lowest-numbered
    /// of these experts, then source rank, then token.
    Once,
    /// Words of a route that a launch keeps for another one: as many as ranks, experts and slots ask for.
    Routed,
    /// A matrix of that many rows for each expert of the rank.
    Expert(u32),
    /// One matrix of that many rows on the rank.
    Matrix(u32),
}

impl RowKind {
    /// Whether a launch keeps such rows for another one, or takes those that another one has kept.
    #[must_use]
    pub const fn is_kept(self) -> bool {
        matches!(self, Self::Received | Self::Once | Self::Routed)
    }
}

/// The memory that holds a tensor.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Storage {
    /// The caller's memory, with dense rows.
    Argument,
    /// The caller's memory, with dense rows, into which peers put.
    Shared,
    /// The rank's workspace, which no peer accesses.
    Workspace,
    /// The symmetric heap, into which peers put.
    Symmetric,
}

impl Storage {
    /// Whether the caller passes the tensor to the launch.
    #[must_use]
    pub const fn is_argument(self) -> bool {
        matches!(self, Self::Argument | Self::Shared)
    }
}
