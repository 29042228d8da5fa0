//! Tensors of a taskflow: what their rows stand for and where they lie.

use hpmoe_kernels::op::ElementType;
use proc_macro2::Span;

/// What the rows of a tensor stand for, on each rank.
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
    /// A matrix for each expert of the rank.
    Expert {
        /// The rows of one expert's matrix.
        rows: u32,
    },
    /// One matrix on the rank.
    Matrix {
        /// The rows of the matrix.
        rows: u32,
    },
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

/// One tensor on every rank of the group.
#[derive(Clone, Debug)]
pub struct Tensor {
    /// The name in the taskflow, unique there; `(token, k)` for the compiler's own.
    pub name: String,
    /// The type of each element.
    pub element: ElementType,
    /// Elements of a row.
    pub columns: u32,
    /// Elements from the start of one row to the start of the next.
    pub pitch: u32,
    /// What the rows stand for.
    pub rows: RowKind,
    /// The memory that holds the rows.
    pub storage: Storage,
    /// Whether the taskflow may write it: true for `&mut` parameters and every `let`.
    pub writable: bool,
    /// The tensor's name where it is declared.
    pub span: Span,
}

impl Storage {
    /// Whether the caller passes the tensor to the launch.
    #[must_use]
    pub const fn is_argument(self) -> bool {
        matches!(self, Self::Argument | Self::Shared)
    }
}

/// The pitch of a tensor in elements: rows of arguments are dense, those of workspace and symmetric heap start at multiples of
/// 512 bytes.
#[must_use]
pub fn pitch(element: ElementType, columns: u32, storage: Storage) -> u32 {
    let bytes = element.bytes() as u32;
    match storage {
        Storage::Argument | Storage::Shared => columns,
        Storage::Workspace | Storage::Symmetric => (columns * bytes).next_multiple_of(512) / bytes,
    }
}
