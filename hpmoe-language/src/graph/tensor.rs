//! Tensors of a taskflow.

use hpmoe_kernels::op::ElementType;
use proc_macro2::Span;

/// What the rows of a tensor are, on each rank.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum RowKind {
    /// One row per token of the rank.
    Token,
    /// `TOP_K` rows per token of the rank: the slot of (token, k) is row `token * TOP_K + k`.
    Slot,
    /// One row per token routed to an expert of the rank, ordered by expert, then source rank, then (token, k).
    Received,
    /// One row per token routed to the rank, however many of its experts the token goes to: ordered by the first of them,
    /// then source rank, then token.
    Once,
    /// `rows` rows for each expert of the rank.
    Expert {
        /// Rows of one expert's matrix.
        rows: u32,
    },
    /// `rows` rows of the rank.
    Matrix {
        /// Rows of the matrix.
        rows: u32,
    },
}

/// Where a tensor lies.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Storage {
    /// The caller's, dense rows.
    Argument,
    /// The caller's, dense rows, within reach of peers: a put writes it.
    Shared,
    /// The rank's workspace.
    Workspace,
    /// The symmetric heap: peers may put into it.
    Symmetric,
}

/// One tensor on every rank of the group.
#[derive(Clone, Debug)]
pub struct Tensor {
    /// Name in the taskflow.
    pub name: String,
    /// Element type.
    pub element: ElementType,
    /// Columns of a row.
    pub columns: u32,
    /// Elements from one row to the next.
    pub pitch: u32,
    /// What the rows stand for.
    pub rows: RowKind,
    /// Where the rows lie.
    pub storage: Storage,
    /// Whether the taskflow may write it: `&mut` parameters and every `let`.
    pub writable: bool,
    /// Declaration.
    pub span: Span,
}

impl Storage {
    /// Whether the caller brings it.
    #[must_use]
    pub const fn is_argument(self) -> bool {
        matches!(self, Self::Argument | Self::Shared)
    }
}

/// Elements from one row to the next: dense for arguments; rows of workspace and symmetric tensors start on 512 bytes.
#[must_use]
pub fn pitch(element: ElementType, columns: u32, storage: Storage) -> u32 {
    let bytes = element.bytes() as u32;
    match storage {
        Storage::Argument | Storage::Shared => columns,
        Storage::Workspace | Storage::Symmetric => (columns * bytes).next_multiple_of(512) / bytes,
    }
}
