//! `value.log_sigmoid()`: the logarithm of the sigmoid.

use super::elementwise::ONE_VALUE;
use crate::Value;
use crate::op::{Device, Host, Operation, Part, Spelling, Step};

/// The operation `log_sigmoid`: -softplus(-x).
pub(super) static OPERATION: Operation = Operation {
    spelling: Spelling::Method("log_sigmoid"),
    host: Host::values(|given| given[0].log_sigmoid()),
    device: Device::Steps(&[
        Step { operation: "-", operands: &[Part::In(0)] },
        Step { operation: "softplus", operands: &[Part::Step(0)] },
        Step { operation: "-", operands: &[Part::Step(1)] },
    ]),
    ..ONE_VALUE
};

impl<const R: usize, const C: usize> Value<R, C> {
    /// ln(1 / (1 + e^-x)) as the negated [`softplus`](Self::softplus) of -x: R×C to R×C. +∞ becomes -0, -∞ and NaN stay as
    /// they are.
    ///
    /// ```
    /// use hpmoe_kernels::Value;
    ///
    /// let value = Value::<1, 3>::new(1, 3, vec![0.0, -100.0, 200.0]).log_sigmoid();
    /// assert!((value.as_slice()[0] + std::f32::consts::LN_2).abs() < 1e-7);
    /// assert_eq!(value.as_slice()[1..], [-100.0, 0.0]);
    /// ```
    #[must_use]
    pub fn log_sigmoid(&self) -> Self {
        -(-self).softplus()
    }
}
