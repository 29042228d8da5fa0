//! Tensors of a taskflow: the kind of their rows, and their storage.

use hpmoe_kernels::op::ElementType;
use proc_macro2::Span;

pub use hpmoe_kernels::memory::{RowKind, Storage};

/// One tensor on every rank of the group.
#[derive(Clone, Debug)]
pub struct Tensor {
    /// The tensor's name in the taskflow, unique there; `(token, k)` for the compiler's own tensor, which holds origins.
    pub name: String,
    /// The type of each element.
    pub element: ElementType,
    /// Number of elements per row.
    pub columns: u32,
    /// Distance between the starts of consecutive rows, in elements.
    pub pitch: u32,
    /// The kind of the rows.
    pub rows: RowKind,
    /// The memory that holds the rows.
    pub storage: Storage,
    /// Whether the taskflow may write the tensor: true for `&mut` parameters, for every `let`, and for the compiler's own tensor.
    pub writable: bool,
    /// The place of the tensor's name in its declaration.
    pub span: Span,
}

/// Distance between the starts of consecutive rows of a tensor, in elements. Rows in the caller's memory are dense; rows in the workspace
/// and the symmetric heap start at multiples of 512 bytes.
#[must_use]
pub fn pitch(element: ElementType, columns: u32, storage: Storage) -> u32 {
    let bytes = element.bytes() as u32;
    match storage {
        Storage::Argument | Storage::Shared => columns,
        Storage::Workspace | Storage::Symmetric => (columns * bytes).next_multiple_of(512) / bytes,
    }
}
