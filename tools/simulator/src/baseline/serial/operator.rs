//! Operators of a serial execution.

use crate::baseline::OperatorProduct;
use crate::simulate::Written;
use hpmoe_core::time::Time;
use hpmoe_kernels::op::ElementType;

/// An operator of a serial execution: a kernel, or a collective.
#[derive(Clone, PartialEq, Debug)]
pub struct SerialOperator {
    /// The name in tables and pictures. If several phases form one operator, it has up to three of their names.
    pub name: String,
    /// Source line of the operator's first call; 0 if unknown.
    pub line: usize,
    /// The work of the operator.
    pub work: SerialWork,
    /// Core time in picoseconds that an external operator declares for each row, over all columns; `None` if it declares none.
    pub declared: Option<f64>,
}

/// The work of an operator.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum SerialWork {
    /// Products on the matrix cores.
    Product(SerialProduct),
    /// Elementwise work on the vector cores.
    Vector {
        /// The rows that the work covers.
        rows: RowClass,
        /// Bytes that the work reads.
        read: MovedBytes,
        /// Bytes that the work writes.
        written: MovedBytes,
    },
    /// A collective all-to-all of rows.
    Collective {
        /// The direction of the rows.
        way: Way,
        /// Bytes per row.
        row: u64,
    },
    /// The making of routing tables: a kernel, and an exchange of counts.
    Tables,
}

/// Products of one operator: a product `[m, k] x [k, n]` for each group of rows.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SerialProduct {
    /// The rows that all groups have together.
    pub rows: RowClass,
    /// Whether each local expert's rows are a group. Otherwise, all rows are one group.
    pub by_expert: bool,
    /// The extents of a group's product.
    pub extents: OperatorProduct,
    /// Number of products that are added up in one result.
    pub terms: u32,
    /// Element type of both operands.
    pub operands: ElementType,
    /// How the result is written.
    pub out: Written,
}

/// The rows of a rank that an operator works on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum RowClass {
    /// Rows that the rank received.
    Received,
    /// Tokens of the rank.
    Tokens,
    /// Rows that the rank sends, one for each token and expert of the token.
    Sent,
    /// Rows that the rank sends if each token is sent once to each rank.
    SentOnce,
    /// No rows: only matrices of experts or ranks.
    Matrices,
}

/// The direction of a collective's rows.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Way {
    /// To the owners of the experts; a token has one row for each of its experts.
    Out,
    /// To the owners of the experts; a token has one row for each rank that it goes to.
    OutOnce,
    /// Back to the ranks of the tokens.
    Back,
}

/// Bytes that elementwise work moves.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MovedBytes {
    /// Bytes for each row.
    pub row: u64,
    /// Bytes for each local expert, regardless of the number of rows.
    pub expert: u64,
    /// Bytes for the rank, regardless of the number of rows.
    pub rank: u64,
}

impl MovedBytes {
    /// `row` bytes for each row, and no other bytes.
    #[must_use]
    pub const fn of_row(row: u64) -> Self {
        Self { row, expert: 0, rank: 0 }
    }

    /// Bytes that one of `cores` cores moves: those of its `rows` rows, and an equal share of all others.
    pub(super) fn share(self, rows: u64, experts: u64, cores: u64) -> u64 {
        self.row * rows + (self.expert * experts + self.rank).div_ceil(cores)
    }
}

impl SerialOperator {
    /// An operator without a declared time.
    pub(super) fn new(name: impl Into<String>, line: usize, work: SerialWork) -> Self {
        Self { name: name.into(), line, work, declared: None }
    }

    /// The time that the operator declares for `rows` rows; `None` if it declares none.
    pub(super) fn declared_for(&self, rows: f64) -> Option<Time> {
        self.declared.map(|of_row| Time((of_row * rows).ceil() as u64))
    }
}
