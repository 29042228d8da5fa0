//! `value.ln()`: natural logarithms.

use super::elementwise::ONE_VALUE;
use crate::op::{Device, Host, Operation, Slot, Spelling, VectorCall};
use crate::{Value, math};

/// The operation `ln`: the natural logarithm of each number.
pub(super) static OPERATION: Operation = Operation {
    spelling: Spelling::Method("ln"),
    host: Host::values(|given| given[0].ln()),
    device: Device::Vector { scratch: &[], calls: &[VectorCall::Unary("Ln", Slot::Out, Slot::In(0))] },
    ..ONE_VALUE
};

impl<const R: usize, const C: usize> Value<R, C> {
    /// [`ln`](crate::math::ln) of each number: R×C to R×C. ±0 becomes -∞, numbers below 0 become NaN; +∞ and NaN stay as they
    /// are.
    ///
    /// ```
    /// use hpmoe_kernels::Value;
    ///
    /// let value = Value::<1, 3>::new(1, 3, vec![1.0, 0.0, f32::INFINITY]);
    /// assert_eq!(value.ln().as_slice(), [0.0, f32::NEG_INFINITY, f32::INFINITY]);
    /// ```
    #[must_use]
    pub fn ln(&self) -> Self {
        self.map(math::ln)
    }
}
