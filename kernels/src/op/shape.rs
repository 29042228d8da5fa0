//! The types of operands and results.

use super::ElementType;
use std::fmt;

/// The kind of an operand or a result.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum OperandKind {
    /// A tile in global memory: a task parameter.
    Tile,
    /// A value on chip.
    Value,
    /// A number that the compiler knows: an f32 literal or constant.
    Number,
    /// A size, given as a const argument: `value.fold_rows::<BLOCK>()`. Such sizes come after all other operands.
    Size,
    /// A size, given as an argument: `value.columns::<WIDTH>(n * WIDTH)`.
    Index,
}

/// The type of an operand or a result: kind, element type, and maximum numbers of rows and columns, as written in the
/// source.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Shape {
    /// The operand's kind: tile, value, number or size.
    pub kind: OperandKind,
    /// Element type. A value that was loaded has `f32`, whatever the tile's type is.
    pub element: ElementType,
    /// Maximum number of rows, as the type states it.
    pub rows: usize,
    /// Maximum number of columns, as the type states it.
    pub cols: usize,
}

impl Shape {
    /// Whether a value has the same size as `other`, or is a row or a column that can be broadcast to `other`.
    #[must_use]
    pub const fn spreads_over(&self, other: &Self) -> bool {
        (self.rows == other.rows || self.rows == 1) && (self.cols == other.cols || self.cols == 1)
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            OperandKind::Tile => "Tile",
            OperandKind::Value => "Value",
            OperandKind::Number => return f.write_str("a number"),
            OperandKind::Size | OperandKind::Index => return write!(f, "a size of {}", self.rows),
        };
        write!(f, "{kind}<{}, {}, {}>", self.element, self.rows, self.cols)
    }
}
