//! `value.round()`: the nearest whole numbers.

use super::elementwise::ONE_VALUE;
use crate::Value;
use crate::op::{Device, Host, Operation, Slot, Spelling, VectorCall};

/// The operation `round`: the nearest whole number; of two equally near ones, the even one.
pub(super) static OPERATION: Operation = Operation {
    spelling: Spelling::Method("round"),
    host: Host::values(|given| given[0].round()),
    device: Device::Vector { scratch: &[], calls: &[VectorCall::Whole("CAST_RINT", Slot::Out, Slot::In(0))] },
    ..ONE_VALUE
};

impl<const R: usize, const C: usize> Value<R, C> {
    /// The nearest whole number as f32, ties to even: R×C to R×C. A result of 0 has the sign of x; infinities and NaN stay as
    /// they are.
    ///
    /// ```
    /// use hpmoe_kernels::Value;
    ///
    /// let value = Value::<1, 4>::new(1, 4, vec![0.5, 1.5, 2.5, -2.6]);
    /// assert_eq!(value.round().as_slice(), [0.0, 2.0, 2.0, -3.0]);
    /// ```
    #[must_use]
    pub fn round(&self) -> Self {
        self.map(f32::round_ties_even)
    }
}
