//! `value.at_most(limit)`: lowers larger numbers to a limit.

use super::elementwise::ONE_VALUE;
use crate::Value;
use crate::op::{Device, Host, OperandKind, Operation, Scalar, Slot, Spelling, VectorCall};

/// The operation `at_most` for a value and a number.
pub(super) static OPERATION: Operation = Operation {
    spelling: Spelling::Method("at_most"),
    operands: &[OperandKind::Value, OperandKind::Number],
    host: Host::values(|given| given[0].at_most(given.numbers[0])),
    device: Device::Vector {
        scratch: &[],
        calls: &[VectorCall::Scalar("Mins", Slot::Out, Slot::In(0), Scalar::Given(0))],
    },
    ..ONE_VALUE
};

impl<const R: usize, const C: usize> Value<R, C> {
    /// Replaces every number that is larger than the limit, or NaN, by the limit: R×C to R×C.
    ///
    /// ```
    /// use hpmoe_kernels::Value;
    ///
    /// let a = Value::<1, 2>::new(1, 2, vec![1.0, 3.0]);
    /// assert_eq!(a.at_most(2.0).as_slice(), [1.0, 2.0]);
    /// ```
    #[must_use]
    pub fn at_most(&self, limit: f32) -> Self {
        self.map(|x| if x < limit { x } else { limit })
    }
}
