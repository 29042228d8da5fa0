//! `a.greater_equal(b)`: 1 where a number is larger than or equal to another, 0 elsewhere.

use super::comparison::{compare, compare_with_number, number, truth, values};
use crate::op::{Host, Operation};
use crate::{Operand, Value};

/// The operation `greater_equal` for two values.
pub(super) static VALUES: Operation =
    values("greater_equal", Host::values(|given| given[0].greater_equal(&given[1])), &compare("GreaterEqual"));

/// The operation `greater_equal` for a value and a number.
pub(super) static NUMBER: Operation = number(
    "greater_equal",
    Host::values(|given| given[0].greater_equal(given.numbers[0])),
    &compare_with_number("GreaterEqual"),
);

impl<const R: usize, const C: usize> Value<R, C> {
    /// 1 where a number is larger than or equal to its counterpart in `right`, 0 elsewhere: R×C and a value or a number
    /// to R×C. With NaN on either side the result is 0. Zeros of either sign are equal. Use [`select`](Self::select) to
    /// choose by the result, `*` for "and", and `max` for "or".
    ///
    /// ```
    /// use hpmoe_kernels::Value;
    ///
    /// let a = Value::<1, 3>::new(1, 3, vec![1.0, 2.0, 3.0]);
    /// let b = Value::<1, 3>::new(1, 3, vec![3.0, 2.0, 1.0]);
    /// assert_eq!(a.greater_equal(2.0).as_slice(), [0.0, 1.0, 1.0]);
    /// assert_eq!(a.greater_equal(&b).as_slice(), [0.0, 1.0, 1.0]);
    /// ```
    #[must_use]
    pub fn greater_equal(&self, right: impl Operand<R, C>) -> Self {
        right.after(self, "greater_equal", |a, b| truth(a >= b))
    }
}
