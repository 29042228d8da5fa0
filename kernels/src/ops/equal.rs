//! `a.equal(b)`: 1 where a number equals another, 0 elsewhere.

use super::comparison::{compare, compare_with_number, number, truth, values};
use crate::op::{Host, Operation};
use crate::{Operand, Value};

/// The operation `equal` for two values.
pub(super) static VALUES: Operation =
    values("equal", Host::values(|given| given[0].equal(&given[1])), &compare("Equal"));

/// The operation `equal` for a value and a number.
pub(super) static NUMBER: Operation =
    number("equal", Host::values(|given| given[0].equal(given.numbers[0])), &compare_with_number("Equal"));

impl<const R: usize, const C: usize> Value<R, C> {
    /// 1 where a number equals its counterpart in `right`, 0 elsewhere: R×C and a value or a number to R×C. With NaN on
    /// either side the result is 0. Zeros of either sign are equal. Use [`select`](Self::select) to choose by the
    /// result, `*` for "and", and `max` for "or".
    ///
    /// ```
    /// use hpmoe_kernels::Value;
    ///
    /// let a = Value::<1, 3>::new(1, 3, vec![1.0, 2.0, 3.0]);
    /// let b = Value::<1, 3>::new(1, 3, vec![3.0, 2.0, 1.0]);
    /// assert_eq!(a.equal(2.0).as_slice(), [0.0, 1.0, 0.0]);
    /// assert_eq!(a.equal(&b).as_slice(), [0.0, 1.0, 0.0]);
    /// ```
    #[must_use]
    pub fn equal(&self, right: impl Operand<R, C>) -> Self {
        right.after(self, "equal", |a, b| truth(a == b))
    }
}
