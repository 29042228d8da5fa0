//! `value.row_sum()`: the sum of each row.

use super::elementwise::ONE_VALUE;
use crate::Value;
use crate::op::{Columns, Device, ElementType, Host, Operation, Routine, Shape, Sizes, Spelling, Waits};

/// Number of partial sums of a row: the lanes of a vector call.
pub(super) const LANES: usize = 64;

/// The operation `row_sum`: the sum of each row.
pub(super) static OPERATION: Operation = Operation {
    spelling: Spelling::Method("row_sum"),
    shape: |operands, _| Ok(Shape { element: ElementType::f32, cols: 1, ..operands[0] }),
    host: Host::values(|given| given[0].row_sum().any()),
    device: Device::Routine(Routine {
        name: "RowSum",
        sizes: Sizes::OneColumn,
        scratch: &[Columns::Fixed(LANES)],
        waits: Waits::BehindScratch,
    }),
    ..ONE_VALUE
};

impl<const R: usize, const C: usize> Value<R, C> {
    /// The sum of each row: R×C to R×1.
    ///
    /// There are 64 partial sums. Partial sum l starts at 0 and adds columns l, l + 64, l + 128 and so on. Then
    /// neighbours are added pairwise, (s0 + s1), (s2 + s3) and so on, repeatedly until one sum is left. Every addition
    /// is rounded once.
    ///
    /// ```
    /// use hpmoe_kernels::Value;
    ///
    /// let rows = Value::<2, 3>::new(2, 3, vec![1.0, 2.0, 3.0, 10.0, 20.0, 30.0]);
    /// assert_eq!(rows.row_sum().as_slice(), [6.0, 60.0]);
    /// ```
    #[must_use]
    pub fn row_sum(&self) -> Value<R, 1> {
        Value::new(self.rows(), 1, (0..self.rows()).map(|row| sum(self.row(row))).collect()).with_empty(self.empty())
    }
}

#[inline]
fn sum(row: &[f32]) -> f32 {
    let mut lanes = [0.0; LANES];
    for (column, x) in row.iter().enumerate() {
        lanes[column % LANES] += x;
    }
    let mut left = LANES;
    while left > 1 {
        left /= 2;
        for lane in 0..left {
            lanes[lane] = lanes[2 * lane] + lanes[2 * lane + 1];
        }
    }
    lanes[0]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adds_far_columns_first_and_then_neighbours() {
        let big = 16_777_216.0; // one more is lost
        let mut row = vec![0.0; 129];
        (row[0], row[64], row[128]) = (big, 1.0, 1.0);
        assert_eq!(sum(&row), big, "each one is lost when it is added by itself");
        (row[64], row[128], row[1], row[65]) = (0.0, 0.0, 1.0, 1.0);
        assert_eq!(sum(&row), big + 2.0, "the ones are a lane of their own");
        (row[1], row[65], row[2], row[3]) = (0.0, 0.0, 1.0, 1.0);
        assert_eq!(sum(&row), big + 2.0, "neighbours are added before they meet others");
    }

    #[test]
    fn is_near_the_exact_sum() {
        let row: Vec<f32> = (0..1000).map(|i| (i % 17) as f32 / 17.0).collect();
        let exact: f64 = row.iter().map(|x| f64::from(*x)).sum();
        assert!((f64::from(sum(&row)) - exact).abs() < 1e-4);
    }
}
