//! `value.square()`: numbers times themselves.

use super::elementwise::ONE_VALUE;
use crate::Value;
use crate::op::{Device, Host, Operation, Slot, Spelling, VectorCall};

/// The operation `square`: the square of each number.
pub(super) static OPERATION: Operation = Operation {
    spelling: Spelling::Method("square"),
    host: Host::values(|given| given[0].square()),
    device: Device::Vector { scratch: &[], calls: &[VectorCall::Binary("Mul", Slot::Out, Slot::In(0), Slot::In(0))] },
    ..ONE_VALUE
};

impl<const R: usize, const C: usize> Value<R, C> {
    /// x · x, rounded once: R×C to R×C. Infinities become +∞; NaN stays NaN.
    ///
    /// ```
    /// use hpmoe_kernels::Value;
    ///
    /// let value = Value::<1, 2>::new(1, 2, vec![-3.0, 0.5]);
    /// assert_eq!(value.square().as_slice(), [9.0, 0.25]);
    /// ```
    #[must_use]
    pub fn square(&self) -> Self {
        self.map(|x| x * x)
    }
}
