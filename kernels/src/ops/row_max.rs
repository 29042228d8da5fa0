//! `value.row_max()`: the largest number of each row.

use super::elementwise::ONE_VALUE;
use super::row_sum::LANES;
use crate::Value;
use crate::op::{Columns, Device, ElementType, Host, Operation, Routine, Shape, Sizes, Spelling, Waits};

/// The operation `row_max`: the largest number of each row.
pub(super) static OPERATION: Operation = Operation {
    spelling: Spelling::Method("row_max"),
    shape: |operands, _| Ok(Shape { element: ElementType::f32, cols: 1, ..operands[0] }),
    host: Host::values(|given| given[0].row_max().any()),
    device: Device::Routine(Routine {
        name: "RowMax",
        sizes: Sizes::OneColumn,
        scratch: &[Columns::Fixed(LANES)],
        waits: Waits::BehindScratch,
    }),
    ..ONE_VALUE
};

impl<const R: usize, const C: usize> Value<R, C> {
    /// The largest number of each row, exactly: R×C to R×1. A row that has only -∞ gives -∞. For a row with NaN, the result
    /// is not specified; if the largest number is 0, its sign is not specified. Host and device model agree in these cases,
    /// too.
    ///
    /// ```
    /// use hpmoe_kernels::Value;
    ///
    /// let rows = Value::<2, 3>::new(2, 3, vec![1.0, 3.0, 2.0, -5.0, -4.0, f32::NEG_INFINITY]);
    /// assert_eq!(rows.row_max().as_slice(), [3.0, -4.0]);
    /// ```
    #[must_use]
    pub fn row_max(&self) -> Value<R, 1> {
        self.extremes(f32::NEG_INFINITY, |a, b| a > b)
    }
}
