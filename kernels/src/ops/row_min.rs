//! `value.row_min()`: the smallest number of each row.

use super::elementwise::ONE_VALUE;
use super::row_sum::LANES;
use crate::Value;
use crate::op::{Columns, Device, ElementType, Host, Operation, Routine, Shape, Sizes, Spelling, Waits};

/// The operation `row_min`: the smallest number of each row.
pub(super) static OPERATION: Operation = Operation {
    spelling: Spelling::Method("row_min"),
    shape: |operands, _| Ok(Shape { element: ElementType::f32, cols: 1, ..operands[0] }),
    host: Host::values(|given| given[0].row_min().any()),
    device: Device::Routine(Routine {
        name: "RowMin",
        sizes: Sizes::OneColumn,
        scratch: &[Columns::Fixed(LANES)],
        waits: Waits::BehindScratch,
    }),
    ..ONE_VALUE
};

impl<const R: usize, const C: usize> Value<R, C> {
    /// The smallest number of each row, exactly: R×C to R×1. A row that has only +∞ gives +∞. NaN and zeros are treated
    /// as by [`row_max`](Self::row_max).
    ///
    /// ```
    /// use hpmoe_kernels::Value;
    ///
    /// let rows = Value::<2, 3>::new(2, 3, vec![1.0, 3.0, 2.0, -5.0, -4.0, f32::INFINITY]);
    /// assert_eq!(rows.row_min().as_slice(), [1.0, -5.0]);
    /// ```
    #[must_use]
    pub fn row_min(&self) -> Value<R, 1> {
        self.extremes(f32::INFINITY, |a, b| a < b)
    }

    /// The number of each row that precedes all others. Each of 64 lanes starts with `first`, and takes every 64th column; of two numbers
    /// of which neither precedes the other, a lane keeps the later one. The result is the lane that precedes the others; among equals, the
    /// lowest lane.
    pub(super) fn extremes(&self, first: f32, precedes: impl Fn(f32, f32) -> bool) -> Value<R, 1> {
        let of_row = |row: &[f32]| {
            let mut lanes = [first; LANES];
            for (column, x) in row.iter().enumerate() {
                let lane = &mut lanes[column % LANES];
                *lane = if precedes(*lane, *x) { *lane } else { *x };
            }
            lanes.into_iter().reduce(|best, lane| if precedes(lane, best) { lane } else { best }).unwrap_or(first)
        };
        Value::new(self.rows(), 1, (0..self.rows()).map(|row| of_row(self.row(row))).collect()).with_empty(self.empty())
    }
}
