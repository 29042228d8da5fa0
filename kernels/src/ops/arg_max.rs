//! `value.arg_max()`: the column of the largest number of each row.

use super::elementwise::ONE_VALUE;
use crate::Value;
use crate::op::{Device, ElementType, Host, Operation, Part, Shape, Spelling, Step};

/// A number that is larger than any column number.
const NONE: f32 = 16_777_216.0;

/// The operation `arg_max`: the first column whose number equals the row's largest number.
pub(super) static OPERATION: Operation = Operation {
    spelling: Spelling::Method("arg_max"),
    shape: |operands, _| Ok(Shape { element: ElementType::f32, cols: 1, ..operands[0] }),
    host: Host::values(|given| given[0].arg_max().any()),
    device: Device::Steps(&[
        Step { operation: "row_max", operands: &[Part::In(0)] },
        Step { operation: "equal", operands: &[Part::In(0), Part::Step(0)] },
        Step { operation: "column_ids", operands: &[Part::In(0)] },
        Step { operation: "select", operands: &[Part::Step(1), Part::Step(2), Part::Number(NONE)] },
        Step { operation: "row_min", operands: &[Part::Step(3)] },
    ]),
    ..ONE_VALUE
};

impl<const R: usize, const C: usize> Value<R, C> {
    /// The column of the largest number of each row, as a whole number from 0: R×C to R×1. If several columns hold the
    /// largest number, the lowest column wins. The result is 16,777,216 for a row in which no number equals
    /// [`row_max`](Self::row_max), which only NaN can cause.
    ///
    /// ```
    /// use hpmoe_kernels::Value;
    ///
    /// let rows = Value::<2, 3>::new(2, 3, vec![1.0, 3.0, 3.0, -5.0, -4.0, -9.0]);
    /// assert_eq!(rows.arg_max().as_slice(), [1.0, 1.0]);
    /// ```
    #[must_use]
    pub fn arg_max(&self) -> Value<R, 1> {
        self.equal(self.row_max()).select(self.column_ids(), NONE).row_min()
    }
}
