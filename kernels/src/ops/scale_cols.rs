//! `value.scale_cols(&numbers)`: each column times its number.

use super::elementwise::{ONE_VALUE, row_for_all};
use crate::Value;
use crate::op::{Device, Host, OperandKind, Operation, Routine, Sizes, Spelling, Waits};

/// Multiplies each column by its number in one row.
pub(super) static OPERATION: Operation = Operation {
    spelling: Spelling::Method("scale_cols"),
    operands: &[OperandKind::Value, OperandKind::Value],
    shape: |operands, _| row_for_all("scale_cols", operands),
    host: Host::Values(|given| given[0].scale_cols(&given[1].bounded())),
    device: Device::Routine(Routine {
        name: "ScaleColumns",
        sizes: Sizes::NumberForEachColumn,
        scratch: &[],
        waits: Waits::Never,
    }),
    ..ONE_VALUE
};

impl<const R: usize, const C: usize> Value<R, C> {
    /// Multiplies each column by its number, each product rounded once: R×C and 1×C to R×C.
    ///
    /// ```
    /// use hpmoe_kernels::Value;
    ///
    /// let rows = Value::<2, 2>::new(2, 2, vec![1.0, 2.0, 3.0, 4.0]);
    /// let scales = Value::<1, 2>::new(1, 2, vec![10.0, 20.0]);
    /// assert_eq!(rows.scale_cols(&scales).as_slice(), [10.0, 40.0, 30.0, 80.0]);
    /// ```
    ///
    /// # Panics
    ///
    /// If, at run time, there is not exactly one row with a number for each column.
    #[must_use]
    pub fn scale_cols(&self, numbers: &Value<1, C>) -> Self {
        self.with_row(numbers, "scale_cols", |x, y| x * y)
    }
}
