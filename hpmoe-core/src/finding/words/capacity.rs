//! The words of [`Overflow`].

use super::sentence::Sentence;
use crate::finding::{Content, Overflow, Piece};
use std::fmt::Write as _;

impl Overflow {
    /// One line for the fault, then one for each thing that takes up the memory.
    pub(super) fn words(&self, task: &str) -> Sentence {
        let Self { memory, capacity, needed, piece, contents } = self;
        let mut message = format!("`{task}`: {} needs {needed} of {memory}, which has {capacity}", piece.words());
        for (content, bytes) in contents {
            let _ = write!(message, "\n  {bytes:>14}  {content}", bytes = bytes.to_string(), content = content.words());
        }
        (message, piece.help())
    }
}

impl Piece {
    fn words(&self) -> String {
        match self {
            Self::Product { columns, .. } => {
                format!("16 rows x all {columns} columns (with 16 columns of the contraction)")
            }
            Self::Row { tile, shape } => format!("one row of `{tile}` ({shape})"),
            Self::PutRow { tile } => format!("one row of `{tile}` (in one of two halves of UB)"),
            Self::Origins { tile, rows, .. } => format!("the (token, k) of the {rows} rows of `{tile}`"),
            Self::External { file } => format!("the operator of `{file}`"),
        }
    }

    fn help(&self) -> String {
        match self {
            Self::Product { weights, .. } => {
                format!("declare `{weights}` and the result with fewer columns: at most 1024")
            }
            Self::Row { .. } => {
                "declare tiles with fewer columns, and loop over `.cols(n)` of them in the taskflow".into()
            }
            Self::PutRow { .. } => {
                "put fewer columns at a time: declare narrower tiles and put `.cols(n)` of both".into()
            }
            Self::Origins { most, .. } => format!("declare tiles of at most {most} rows"),
            Self::External { .. } => {
                "let the operator work on fewer rows or columns at a time, and declare the memory that it then uses"
                    .into()
            }
        }
    }
}

impl Content {
    fn words(&self) -> String {
        match self {
            Self::Accumulator { columns } => format!("an accumulator of 16 x {columns} f32"),
            Self::Weights { rows } => format!("16 columns of {rows} rows, in one of two halves of L0B"),
            Self::Buffer { name, stages, rows, columns, element } => {
                let stages = if *stages == 1 { "" } else { "two stages of " };
                let rows = if *rows == 1 { "1 row".to_owned() } else { format!("{rows} rows") };
                format!("`{name}`: {stages}{rows} x {columns} {element}")
            }
            Self::Row { columns, element } => format!("a row of {columns} {element}"),
            Self::Origins { rows } => format!("{rows} numbers of 4 B"),
        }
    }
}
