//! `value.rsqrt()`: inverse square roots.

use super::elementwise::ONE_VALUE;
use crate::Value;
use crate::op::{Columns, Device, Host, Operation, Scalar, Slot, Spelling, VectorCall};

/// The operation `rsqrt`: 1 / √x. It doesn't use AscendC's `Rsqrt`, which is approximate.
pub(super) static OPERATION: Operation = Operation {
    spelling: Spelling::Method("rsqrt"),
    host: Host::values(|given| given[0].rsqrt()),
    device: Device::Vector {
        scratch: &[Columns::OfResult],
        calls: &[
            VectorCall::Unary("Sqrt", Slot::Scratch(0), Slot::In(0)),
            VectorCall::Fill(Slot::Out, Scalar::Is(1.0)),
            VectorCall::Binary("Div", Slot::Out, Slot::Out, Slot::Scratch(0)),
        ],
    },
    ..ONE_VALUE
};

impl<const R: usize, const C: usize> Value<R, C> {
    /// 1 / √x, root and quotient rounded once each: R×C to R×C. ±0 becomes ±∞ and +∞ becomes 0; numbers below 0 become NaN, and
    /// NaN stays NaN.
    ///
    /// ```
    /// use hpmoe_kernels::Value;
    ///
    /// let value = Value::<1, 3>::new(1, 3, vec![4.0, 0.25, 0.0]);
    /// assert_eq!(value.rsqrt().as_slice(), [0.5, 2.0, f32::INFINITY]);
    /// ```
    #[must_use]
    pub fn rsqrt(&self) -> Self {
        self.map(|x| 1.0 / x.sqrt())
    }
}
