//! The words of sizes at run time.

use super::sentence::Sentence;
use crate::finding::{Dimension, RealOperand, RealSize};

pub(super) fn uneven(task: &str, operation: &str, left: &RealOperand, right: &RealOperand) -> Sentence {
    let help = match left.follows_loop() == right.follows_loop() {
        true => {
            "choose tile sizes that divide rows and columns evenly, or the same index in tensors with the same number of columns"
        }
        false => {
            "a row tile, a send or a token block has a run-time number of rows, but a matrix has a fixed one: take both sides from the loop, or both from matrices (`x.matmul_t(w)` has the rows of `x`, and a column for each row of `w`)"
        }
    };
    let found = match right.is_requirement() {
        true => format!("needs {}, but gets {}", right.words(), left.words()),
        false => format!("combines {} with {}", left.words(), right.words()),
    };
    (format!("`{task}` doesn't fit these tiles: its `{operation}` {found}"), help.into())
}

pub(super) fn empty_tile(
    tensor: &str,
    index: u32,
    (size, extent): (u32, u32),
    inside: bool,
    along: Dimension,
    fixed: bool,
) -> Sentence {
    let what = along.words();
    let of = if inside { "the tile that it is cut from, in " } else { "" };
    let (choose, tiles) = (if fixed { "choose an index below" } else { "end the range at" }, extent.div_ceil(size));
    (
        format!("tile {index} of {size} {what} starts after the {extent} {what} of {of}`{tensor}`"),
        format!("{choose} {tiles} (`{extent}.div_ceil({size})`)"),
    )
}

impl Dimension {
    pub(super) const fn words(self) -> &'static str {
        match self {
            Self::Rows => "rows",
            Self::Columns => "columns",
        }
    }
}

impl RealOperand {
    /// Whether it has as many rows or columns as the row tile, the piece or the block.
    fn follows_loop(&self) -> bool {
        match self {
            Self::Rows(size) | Self::Columns(size) | Self::Ids(size) => *size == RealSize::Item,
            Self::Value { rows, columns } | Self::Weights { rows, columns } => {
                *rows == RealSize::Item || *columns == RealSize::Item
            }
            _ => false,
        }
    }

    /// Whether this describes what the operation requires of its operand, rather than a second operand.
    fn is_requirement(&self) -> bool {
        matches!(self, Self::ColumnPairs | Self::AllColumns(_) | Self::Together(_))
    }

    fn words(&self) -> String {
        match self {
            Self::Rows(rows) => rows.of_rows(),
            Self::Columns(RealSize::Item) => "one column per row of the loop's tile".into(),
            Self::Columns(columns) => format!("{} columns", columns.words()),
            Self::Value { rows, columns } => format!("{}, {} columns", rows.of_rows(), columns.words()),
            Self::Weights { rows, columns } => {
                format!("weights of {}, {} columns", rows.of_rows(), columns.words())
            }
            Self::Tokens(tokens) => format!("{tokens} tokens"),
            Self::ColumnPairs => "pairs of columns".into(),
            Self::AllColumns(columns) => format!("all of {columns} columns"),
            Self::Ids(rows) => format!("ids for {}", rows.of_rows()),
            Self::Together(rows) => format!("{rows} rows at a time"),
        }
    }
}

impl RealSize {
    fn words(&self) -> String {
        match self {
            Self::Item | Self::Slots => "a run-time number of".into(),
            Self::Parts(parts) => format!("{parts} for each row of the loop's tile"),
            Self::Fixed(size) => size.to_string(),
            Self::Tail { range, sizes } => {
                let (first, last) = (sizes.first().unwrap_or(&0), sizes.last().unwrap_or(&0));
                format!("{first} ({last} at the last `{range}`)")
            }
        }
    }

    fn of_rows(&self) -> String {
        match self {
            Self::Item => "the rows of the loop's tile".into(),
            Self::Slots => "the slots of the block's tokens".into(),
            Self::Parts(parts) => format!("{parts} rows for each row of the loop's tile"),
            other => format!("{} rows", other.words()),
        }
    }
}
