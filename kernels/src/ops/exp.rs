//! `value.exp()`: e to the power of each number.

use super::elementwise::ONE_VALUE;
use crate::op::{Device, Host, Operation, Slot, Spelling, VectorCall};
use crate::{Value, math};

/// The operation `exp`: e^x for each number x.
pub(super) static OPERATION: Operation = Operation {
    spelling: Spelling::Method("exp"),
    host: Host::values(|given| given[0].exp()),
    device: Device::Vector { scratch: &[], calls: &[VectorCall::Unary("Exp", Slot::Out, Slot::In(0))] },
    ..ONE_VALUE
};

impl<const R: usize, const C: usize> Value<R, C> {
    /// [`exp`](crate::math::exp) of each number: R×C to R×C.
    ///
    /// ```
    /// use hpmoe_kernels::Value;
    ///
    /// let value = Value::<1, 3>::new(1, 3, vec![0.0, -200.0, 200.0]);
    /// assert_eq!(value.exp().as_slice(), [1.0, 0.0, f32::INFINITY]);
    /// ```
    #[must_use]
    pub fn exp(&self) -> Self {
        self.map(math::exp)
    }
}
