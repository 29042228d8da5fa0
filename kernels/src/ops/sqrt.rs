//! `value.sqrt()`: square roots.

use super::elementwise::ONE_VALUE;
use crate::Value;
use crate::op::{Device, Host, Operation, Slot, Spelling, VectorCall};

/// The operation `sqrt`: the square root of each number.
pub(super) static OPERATION: Operation = Operation {
    spelling: Spelling::Method("sqrt"),
    host: Host::values(|given| given[0].sqrt()),
    device: Device::Vector { scratch: &[], calls: &[VectorCall::Unary("Sqrt", Slot::Out, Slot::In(0))] },
    ..ONE_VALUE
};

impl<const R: usize, const C: usize> Value<R, C> {
    /// √x, rounded once: R×C to R×C. Numbers below 0 become NaN; ±0, +∞ and NaN stay as they are.
    ///
    /// ```
    /// use hpmoe_kernels::Value;
    ///
    /// let value = Value::<1, 3>::new(1, 3, vec![9.0, 0.25, -1.0]).sqrt();
    /// assert_eq!(value.as_slice()[..2], [3.0, 0.5]);
    /// assert!(value.as_slice()[2].is_nan());
    /// ```
    #[must_use]
    pub fn sqrt(&self) -> Self {
        self.map(f32::sqrt)
    }
}
