//! Sizes of scratch values.

use super::Shape;

/// The value whose columns the size of scratch follows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Of {
    /// The first operand.
    First,
    /// As many rows and columns as the result.
    Result,
}

/// Columns of a scratch value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Columns {
    /// Those of the result.
    OfResult,
    /// Those of the result, with room for two parts that each begin on a row's alignment.
    InTwoParts,
    /// So many times those of a value, each time in whole repeats of a vector call.
    Repeats(Of, usize),
    /// A block of 32 bytes for each of those of a value, in rows as they lie in UB.
    Blocks(Of),
    /// A fixed number.
    Fixed(usize),
    /// A fixed number, in a single row however many rows the result has.
    Once(usize),
    /// Those of the result, in a single row.
    OnceOfResult,
}

impl Columns {
    /// The number of columns for these sizes of the first operand and of the result.
    #[must_use]
    pub const fn count(self, first: &Shape, result: &Shape) -> usize {
        match self {
            Self::OfResult | Self::OnceOfResult => result.cols,
            Self::InTwoParts => result.cols + 2 * ROW_ALIGN,
            Self::Repeats(Of::First, times) => times * first.cols.next_multiple_of(REPEAT),
            Self::Repeats(Of::Result, times) => times * result.cols.next_multiple_of(REPEAT),
            Self::Blocks(Of::First) => BLOCK * first.cols.next_multiple_of(ROW_ALIGN),
            Self::Blocks(Of::Result) => BLOCK * result.cols.next_multiple_of(ROW_ALIGN),
            Self::Fixed(cols) | Self::Once(cols) => cols,
        }
    }

    /// Whether there is a single row, however many rows the result has.
    #[must_use]
    pub const fn is_single(self) -> bool {
        matches!(self, Self::Once(_) | Self::OnceOfResult)
    }
}

/// Numbers of a repeat of a vector call.
const REPEAT: usize = 64;
/// Numbers of a block of 32 bytes.
const BLOCK: usize = 8;
/// Numbers on which rows of values are aligned in UB.
const ROW_ALIGN: usize = 16;
