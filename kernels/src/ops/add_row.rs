//! `value.add_row(&row)`: one row added to all rows.

use super::elementwise::{ONE_VALUE, row_for_all};
use crate::Value;
use crate::op::{Device, Host, OperandKind, Operation, Routine, Sizes, Spelling, Waits};

/// Adds one row to all rows.
pub(super) static OPERATION: Operation = Operation {
    spelling: Spelling::Method("add_row"),
    operands: &[OperandKind::Value, OperandKind::Value],
    shape: |operands, _| row_for_all("add_row", operands),
    host: Host::Values(|given| given[0].add_row(&given[1].bounded())),
    device: Device::Routine(Routine {
        name: "AddRow",
        sizes: Sizes::NumberForEachColumn,
        scratch: &[],
        waits: Waits::Never,
    }),
    ..ONE_VALUE
};

impl<const R: usize, const C: usize> Value<R, C> {
    /// Adds one row to all rows, each sum rounded once: R×C and 1×C to R×C.
    ///
    /// ```
    /// use hpmoe_kernels::Value;
    ///
    /// let rows = Value::<2, 2>::new(2, 2, vec![1.0, 2.0, 3.0, 4.0]);
    /// let bias = Value::<1, 2>::new(1, 2, vec![10.0, 20.0]);
    /// assert_eq!(rows.add_row(&bias).as_slice(), [11.0, 22.0, 13.0, 24.0]);
    /// ```
    ///
    /// # Panics
    ///
    /// If, at run time, there is not exactly one row with a number for each column.
    #[must_use]
    pub fn add_row(&self, row: &Value<1, C>) -> Self {
        self.with_row(row, "add_row", |x, y| x + y)
    }
}
