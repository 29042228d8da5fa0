//! `value.softmax()`: rows as probabilities.

use super::elementwise::ONE_VALUE;
use crate::Value;
use crate::op::{Device, Host, Operation, Part, Spelling, Step};

/// The operation `softmax`: e^(x - max) / Σ e^(x - max).
pub(super) static OPERATION: Operation = Operation {
    spelling: Spelling::Method("softmax"),
    host: Host::values(|given| given[0].softmax()),
    device: Device::Steps(&[
        Step { operation: "row_max", operands: &[Part::In(0)] },
        Step { operation: "-", operands: &[Part::In(0), Part::Step(0)] },
        Step { operation: "exp", operands: &[Part::Step(1)] },
        Step { operation: "row_sum", operands: &[Part::Step(2)] },
        Step { operation: "/", operands: &[Part::Step(2), Part::Step(3)] },
    ]),
    ..ONE_VALUE
};

impl<const R: usize, const C: usize> Value<R, C> {
    /// e^(x - m) / Σ e^(x - m) for each row, where m is the row's largest number: R×C to R×C. The difference, the power
    /// and the quotient are each rounded, and the sum is a [`row_sum`](Self::row_sum). -∞ next to other numbers becomes
    /// 0. A row that has only -∞, or that contains +∞ or NaN, becomes NaN.
    ///
    /// ```
    /// use hpmoe_kernels::Value;
    ///
    /// let rows = Value::<1, 4>::new(1, 4, vec![7.0, 7.0, f32::NEG_INFINITY, -500.0]);
    /// assert_eq!(rows.softmax().as_slice(), [0.5, 0.5, 0.0, 0.0]);
    /// ```
    #[must_use]
    pub fn softmax(&self) -> Self {
        let powers = (self - self.row_max()).exp();
        &powers / powers.row_sum()
    }
}
