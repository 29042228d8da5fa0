//! `value.rms_norm(epsilon)`: divides rows by their root mean square.

use super::elementwise::ONE_VALUE;
use crate::Value;
use crate::op::{Device, Host, OperandKind, Operation, Part, Spelling, Step};

/// The operation `rms_norm`: x · 1 / √(mean of x² + ε).
pub(super) static OPERATION: Operation = Operation {
    spelling: Spelling::Method("rms_norm"),
    operands: &[OperandKind::Value, OperandKind::Number],
    host: Host::values(|given| given[0].rms_norm(given.numbers[0])),
    device: Device::Steps(&[
        Step { operation: "square", operands: &[Part::In(0)] },
        Step { operation: "row_mean", operands: &[Part::Step(0)] },
        Step { operation: "+", operands: &[Part::Step(1), Part::Given(0)] },
        Step { operation: "rsqrt", operands: &[Part::Step(2)] },
        Step { operation: "*", operands: &[Part::In(0), Part::Step(3)] },
    ]),
    ..ONE_VALUE
};

impl<const R: usize, const C: usize> Value<R, C> {
    /// Each row times 1 / √(m + ε), where m is the mean of the row's squares: R×C to R×C. The squares, their
    /// [`row_mean`](Self::row_mean), the sum with ε, the root, the quotient and the product are each rounded. Multiply
    /// by the weights of columns afterwards: `x.rms_norm(EPSILON) * weights`.
    ///
    /// An infinity becomes NaN, and the rest of its row 0. A row with NaN is all NaN.
    ///
    /// ```
    /// use hpmoe_kernels::Value;
    ///
    /// let rows = Value::<1, 4>::new(1, 4, vec![2.0, -2.0, 2.0, 2.0]);
    /// assert_eq!(rows.rms_norm(0.0).as_slice(), [1.0, -1.0, 1.0, 1.0]);
    /// ```
    #[must_use]
    pub fn rms_norm(&self, epsilon: f32) -> Self {
        self * (self.square().row_mean() + epsilon).rsqrt()
    }
}
