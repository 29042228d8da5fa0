//! `value.abs()`: numbers without their signs.

use super::elementwise::ONE_VALUE;
use crate::Value;
use crate::op::{Device, Host, Operation, Slot, Spelling, VectorCall};

/// The operation `abs`, which clears the sign of each number.
pub(super) static OPERATION: Operation = Operation {
    spelling: Spelling::Method("abs"),
    host: Host::values(|given| given[0].abs()),
    device: Device::Vector { scratch: &[], calls: &[VectorCall::Unary("Abs", Slot::Out, Slot::In(0))] },
    ..ONE_VALUE
};

impl<const R: usize, const C: usize> Value<R, C> {
    /// |x|, exactly: R×C to R×C. -0 becomes +0; infinities become +∞; NaN stays NaN.
    ///
    /// ```
    /// use hpmoe_kernels::Value;
    ///
    /// let value = Value::<1, 3>::new(1, 3, vec![-1.5, 2.0, f32::NEG_INFINITY]);
    /// assert_eq!(value.abs().as_slice(), [1.5, 2.0, f32::INFINITY]);
    /// ```
    #[must_use]
    pub fn abs(&self) -> Self {
        self.map(f32::abs)
    }
}
