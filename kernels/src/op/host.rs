//! The host meaning of operations, for operands of any size.

use super::ElementType;
use crate::tensor::{AnyTile, AnyValue};

/// The operands of an operation.
#[derive(Clone, Copy, Debug)]
pub struct Given<'a> {
    /// The operands that are values, in the operation's order.
    pub values: &'a [AnyValue],
    /// The operands that are numbers, in order.
    pub numbers: &'a [f32],
    /// The size operands, in order.
    pub sizes: &'a [usize],
    /// The type argument, if the operation takes one.
    pub element: Option<ElementType>,
}

impl std::ops::Index<usize> for Given<'_> {
    type Output = AnyValue;

    fn index(&self, value: usize) -> &AnyValue {
        &self.values[value]
    }
}

/// The method or operator that defines an operation's meaning. A test compares it with the operation's device code for
/// operands of many sizes. Only that test needs the meaning compiled for any size, so the table contains it only with
/// the feature `meanings`.
#[derive(Clone, Copy, Debug)]
pub enum Host {
    /// Moves data: a load, a store, a put, or a sum in global memory.
    Moves,
    /// Computes a value from values, numbers and sizes.
    Values(fn(Given<'_>) -> AnyValue),
    /// Multiplies two tiles, and adds the product to the value if it is not `None`.
    Product(fn(Option<AnyValue>, AnyTile<'_>, AnyTile<'_>) -> AnyValue),
    /// A computation whose meaning is left out, because the table was built without the feature `meanings`.
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
