//! `a.min(&b)`: the smaller of two values, element by element.

use super::elementwise::{ONE_VALUE, one_size};
use crate::Value;
use crate::op::{Device, Host, OperandKind, Operation, Slot, Spelling, VectorCall};

/// The operation `min` for two values.
pub(super) static OPERATION: Operation = Operation {
    spelling: Spelling::Method("min"),
    operands: &[OperandKind::Value, OperandKind::Value],
    shape: |operands, _| one_size("`min` compares", operands),
    host: Host::values(|given| given[0].min(&given[1])),
    device: Device::Vector { scratch: &[], calls: &[VectorCall::Binary("Min", Slot::Out, Slot::In(0), Slot::In(1))] },
    ..ONE_VALUE
};

impl<const R: usize, const C: usize> Value<R, C> {
    /// Elementwise minimum: R×C and R×C, 1×C or R×1 to R×C. For two zeros, or if one number is NaN, the result is the
    /// number of `other`.
    ///
    /// ```
    /// use hpmoe_kernels::Value;
    ///
    /// let a = Value::<1, 2>::new(1, 2, vec![2.0, 3.0]);
    /// let b = Value::<1, 2>::new(1, 2, vec![3.0, 2.0]);
    /// assert_eq!(a.min(&b).as_slice(), [2.0, 2.0]);
    /// ```
    #[must_use]
    pub fn min<const R2: usize, const C2: usize>(&self, other: &Value<R2, C2>) -> Self {
        self.zip(other, "min", |a, b| if a < b { a } else { b })
    }
}
