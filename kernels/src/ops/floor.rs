//! `value.floor()`: rounds down to whole numbers.

use super::elementwise::ONE_VALUE;
use crate::Value;
use crate::op::{Device, Host, Operation, Slot, Spelling, VectorCall};

/// The operation `floor`: the largest whole number that is not larger than each number.
pub(super) static OPERATION: Operation = Operation {
    spelling: Spelling::Method("floor"),
    host: Host::values(|given| given[0].floor()),
    device: Device::Vector { scratch: &[], calls: &[VectorCall::Whole("CAST_FLOOR", Slot::Out, Slot::In(0))] },
    ..ONE_VALUE
};

impl<const R: usize, const C: usize> Value<R, C> {
    /// The largest whole number ≤ x, as f32: R×C to R×C. ±0, infinities and NaN stay as they are.
    ///
    /// ```
    /// use hpmoe_kernels::Value;
    ///
    /// let value = Value::<1, 3>::new(1, 3, vec![1.75, -1.25, 3e9]);
    /// assert_eq!(value.floor().as_slice(), [1.0, -2.0, 3e9]);
    /// ```
    #[must_use]
    pub fn floor(&self) -> Self {
        self.map(f32::floor)
    }
}
