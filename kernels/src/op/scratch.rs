//! Sizes of scratch values.

use super::Shape;

/// The value that determines the columns of a scratch value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Of {
    /// The first operand.
    First,
    /// The result.
    Result,
}

/// The number of columns of a scratch value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Columns {
    /// The number of columns of the result.
    OfResult,
    /// The number of columns of the result, plus room for two parts that each start at a row's alignment.
    InTwoParts,
    /// A value's number of columns, rounded up to whole repeats of a vector call (64 columns), times the given factor.
    Repeats(Of, usize),
    /// One block of 32 bytes (8 columns) per column of a value, whose number of columns is rounded up to the row alignment in UB.
    Blocks(Of),
    /// A fixed number of columns.
    Fixed(usize),
    /// A fixed number of columns, in a single row for any number of result rows.
    Once(usize),
    /// The number of columns of the result, in a single row for any number of result rows.
    OnceOfResult,
}

impl Columns {
    /// The number of columns, for the sizes of the first operand and of the result.
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

    /// Whether the scratch value has a single row for any number of result rows.
    #[must_use]
    pub const fn is_single(self) -> bool {
        matches!(self, Self::Once(_) | Self::OnceOfResult)
    }
}

/// Number of f32 that one repeat of a vector call processes.
const REPEAT: usize = 64;
/// Number of f32 in a block of 32 bytes.
const BLOCK: usize = 8;
/// The length of a row in UB is rounded up to a multiple of this number of f32.
const ROW_ALIGN: usize = 16;
