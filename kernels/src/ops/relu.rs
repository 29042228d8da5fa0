//! `value.relu()`: numbers below 0 become 0.

use super::elementwise::ONE_VALUE;
use crate::Value;
use crate::op::{Device, Host, Operation, Slot, Spelling, VectorCall};

/// The larger of 0 and each number.
pub(super) static OPERATION: Operation = Operation {
    spelling: Spelling::Method("relu"),
    host: Host::values(|given| given[0].relu()),
    device: Device::Vector { scratch: &[], calls: &[VectorCall::Unary("Relu", Slot::Out, Slot::In(0))] },
    ..ONE_VALUE
};

impl<const R: usize, const C: usize> Value<R, C> {
    /// x where x > 0, and +0 elsewhere: R×C to R×C. NaN stays NaN, which [`at_least(0.0)`](Self::at_least) would replace.
    ///
    /// ```
    /// use hpmoe_kernels::Value;
    ///
    /// let value = Value::<1, 3>::new(1, 3, vec![-2.0, 0.5, f32::INFINITY]);
    /// assert_eq!(value.relu().as_slice(), [0.0, 0.5, f32::INFINITY]);
    /// ```
    #[must_use]
    pub fn relu(&self) -> Self {
        self.map(|x| if x > 0.0 || x.is_nan() { x } else { 0.0 })
    }
}
