//! The words of sizes at run time.

use super::Sentence;
use crate::finding::{Dimension, RealOperand, RealSize};

pub(super) fn uneven(task: &str, operation: &str, left: &RealOperand, right: &RealOperand) -> Sentence {
    (
        format!("`{task}` doesn't fit these tiles: its `{operation}` takes {} with {}", left.words(), right.words()),
        "choose tiles that end at the same place: the same index, in tensors with the same number of columns".into(),
    )
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
    let of = if inside { "the tile that it is cut of, in " } else { "" };
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
    fn words(&self) -> String {
        match self {
            Self::Rows(rows) => rows.of_rows(),
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
            Self::Item => "as many as there are".into(),
            Self::Slots => "as many as there are slots".into(),
            Self::Parts(parts) => format!("{parts} for each of the item's rows"),
            Self::Fixed(size) => size.to_string(),
            Self::Tail { range, sizes } => {
                let (first, last) = (sizes.first().unwrap_or(&0), sizes.last().unwrap_or(&0));
                format!("{first} (and {last} at the end of `{range}`)")
            }
        }
    }

    fn of_rows(&self) -> String {
        match self {
            Self::Item => "the item's rows".into(),
            Self::Slots => "the slots of the item's tokens".into(),
            Self::Parts(parts) => format!("{parts} rows for each of the item's"),
            other => format!("{} rows", other.words()),
        }
    }
}
