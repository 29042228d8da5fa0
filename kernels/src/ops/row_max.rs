//! `value.row_max()`: the largest number of each row.

use super::elementwise::ONE_VALUE;
use super::row_sum::LANES;
use crate::Value;
use crate::op::{Columns, Device, ElementType, Host, Operation, Routine, Shape, Sizes, Spelling, Waits};

/// Largest numbers of rows.
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
    /// The largest number of each row, exactly: R×C to R×1. Rows of -∞ alone have -∞. NaN has no place in the order: what a row
    /// with NaN gives is the same on host and device model, and nothing more is promised; likewise the sign of a largest 0.
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
