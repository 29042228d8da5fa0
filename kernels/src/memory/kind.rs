//! Kinds of rows and of memory.

/// The kind of a tensor's rows, which determines how many rows it has on each rank.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum RowKind {
    /// One row per token of the rank.
    Token,
    /// `TOP_K` rows per token of the rank: the slot of (token, k) is row `token * TOP_K + k`.
    Slot,
    /// One row per (token, k) whose expert the rank owns, ordered by expert, then source rank, then (token, k).
    Received,
    /// One row per token routed to the rank, however many of the rank's experts the token goes to: ordered by the
    /// lowest-numbered of these experts, then source rank, then token.
    Once,
    /// The words of a route that a launch keeps for later launches, one word per row. Their number depends on the numbers of
    /// ranks, experts, chunks and slots.
    Routed,
    /// A matrix for each expert of the rank, with the given number of rows.
    Expert(u32),
    /// One matrix of the rank, with the given number of rows.
    Matrix(u32),
}

impl RowKind {
    /// Whether rows of this kind can be kept by one launch for another.
    #[must_use]
    pub const fn is_kept(self) -> bool {
        matches!(self, Self::Received | Self::Once | Self::Routed)
    }
}

/// The memory that holds a tensor.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Storage {
    /// The caller's memory, with dense rows, into which no peer puts.
    Argument,
    /// The caller's memory, with dense rows, into which peers put.
    Shared,
    /// The rank's workspace, which no peer accesses.
    Workspace,
    /// The symmetric heap, into which peers put.
    Symmetric,
}

impl Storage {
    /// Whether the tensor is an argument of the launch.
    #[must_use]
    pub const fn is_argument(self) -> bool {
        matches!(self, Self::Argument | Self::Shared)
    }
}
