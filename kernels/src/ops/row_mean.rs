//! `value.row_mean()`: the mean of each row.

use super::elementwise::ONE_VALUE;
use super::row_sum::LANES;
use crate::Value;
use crate::op::{Columns, Device, ElementType, Host, Operation, Routine, Shape, Sizes, Spelling, Waits};

/// The operation `row_mean`: the sum of each row divided by its number of columns.
pub(super) static OPERATION: Operation = Operation {
    spelling: Spelling::Method("row_mean"),
    shape: |operands, _| Ok(Shape { element: ElementType::f32, cols: 1, ..operands[0] }),
    host: Host::values(|given| given[0].row_mean().any()),
    device: Device::Routine(Routine {
        name: "RowMean",
        sizes: Sizes::OneColumn,
        scratch: &[Columns::Fixed(LANES)],
        waits: Waits::BehindScratch,
    }),
    ..ONE_VALUE
};

impl<const R: usize, const C: usize> Value<R, C> {
    /// [`row_sum`](Self::row_sum) divided by the number of columns at run time, the quotient rounded once: R×C to R×1.
    ///
    /// ```
    /// use hpmoe_kernels::Value;
    ///
    /// let rows = Value::<2, 4>::new(2, 3, vec![1.0, 2.0, 3.0, 10.0, 20.0, 60.0]);
    /// assert_eq!(rows.row_mean().as_slice(), [2.0, 30.0]);
    /// ```
    #[must_use]
    pub fn row_mean(&self) -> Value<R, 1> {
        self.row_sum() / self.cols() as f32
    }
}
