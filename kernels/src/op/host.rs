//! The meaning of operations on the host, for operands of any size.

use super::ElementType;
use crate::tensor::{AnyTile, AnyValue};

/// What an operation is given, in the order of its operands.
#[derive(Clone, Copy, Debug)]
pub struct Given<'a> {
    /// The operands that are values, in order.
    pub values: &'a [AnyValue],
    /// The operands that are numbers, in order.
    pub numbers: &'a [f32],
    /// The sizes, in the order of its operands.
    pub sizes: &'a [usize],
    /// The type argument of an operation that takes one.
    pub element: Option<ElementType>,
}

impl std::ops::Index<usize> for Given<'_> {
    type Output = AnyValue;

    fn index(&self, value: usize) -> &AnyValue {
        &self.values[value]
    }
}

/// The method or operator that is the meaning of an operation. A test compares it, for operands of many sizes, with the
/// operation's code on the device; only that test needs it compiled for operands of any size, so only the feature
/// `meanings` keeps it in the table.
#[derive(Clone, Copy, Debug)]
pub enum Host {
    /// Moves data without computing: loads, stores, puts, and sums in global memory.
    Moves,
    /// Computes a value of values, numbers and a size.
    Values(fn(Given<'_>) -> AnyValue),
    /// Multiplies two tiles, and adds the product to the value, if there is one.
    Product(fn(Option<AnyValue>, AnyTile<'_>, AnyTile<'_>) -> AnyValue),
    /// Computes, in a table without meanings.
    LeftOut,
}

impl Host {
    pub(crate) const fn values(meaning: fn(Given<'_>) -> AnyValue) -> Self {
        if cfg!(feature = "meanings") { Self::Values(meaning) } else { Self::LeftOut }
    }

    pub(crate) const fn product(meaning: fn(Option<AnyValue>, AnyTile<'_>, AnyTile<'_>) -> AnyValue) -> Self {
        if cfg!(feature = "meanings") { Self::Product(meaning) } else { Self::LeftOut }
    }
}
