//! Rules for operands that several operations share.

use crate::op::Misfit;

/// The rule for numbers of an operation that takes any numbers.
pub(super) fn any_numbers(_: &[f32]) -> Result<(), Misfit> {
    Ok(())
}

/// A [`Misfit`] of rows or columns.
pub(super) fn misshapen(problem: String, help: impl Into<String>) -> Misfit {
    Misfit { types: false, problem, help: help.into() }
}

/// A [`Misfit`] of element types.
pub(super) fn mistyped(problem: String, help: impl Into<String>) -> Misfit {
    Misfit { types: true, problem, help: help.into() }
}
