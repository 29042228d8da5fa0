//! Tasks that exceed the on-chip memories of a core.

use crate::memory::OnChipMemory;
use crate::units::Bytes;
use hpmoe_kernels::op::{ElementType, Shape};

/// A task whose smallest legal piece needs more of a memory than its core has.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Overflow {
    pub(crate) memory: OnChipMemory,
    pub(crate) capacity: Bytes,
    pub(crate) needed: Bytes,
    pub(crate) piece: Piece,
    /// The contents of the memory when it is fullest, the largest first.
    pub(crate) contents: Vec<(Content, Bytes)>,
}

/// The smallest legal piece of a task.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Piece {
    /// Sixteen rows of a product, with all its columns, and sixteen columns of the contraction.
    Product {
        columns: u64,
        /// The parameter with a row or a column for each of the product's columns.
        weights: String,
    },
    /// One row of a vector task's tile, with all values that are alive at the same time.
    Row { tile: String, shape: Shape },
    /// One row of a put, in one half of UB.
    PutRow { tile: String },
    /// The (token, k) of all rows of a put.
    Origins {
        tile: String,
        rows: usize,
        /// The maximum number of rows whose (token, k) fit.
        most: u64,
    },
    /// The memory that an external operator declares.
    External { file: String },
}

/// Something that takes up on-chip memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Content {
    /// f32 sums of sixteen rows.
    Accumulator { columns: u64 },
    /// Sixteen columns of a product's second operand, in one of two halves of L0B.
    Weights { rows: u64 },
    /// A buffer of a vector task; the buffer of a tile has two stages.
    Buffer { name: String, stages: u32, rows: u32, columns: u32, element: ElementType },
    /// A row that passes through UB.
    Row { columns: usize, element: ElementType },
    /// The (token, k) of `rows` rows.
    Origins { rows: usize },
}
