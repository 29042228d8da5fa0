//! `value.column_ids()`: the number of each column.

use super::elementwise::ONE_VALUE;
use crate::Value;
use crate::op::{Device, Host, Operation, Routine, Sizes, Spelling, Waits};

/// The operation `column_ids`: the number of each column.
pub(super) static OPERATION: Operation = Operation {
    spelling: Spelling::Method("column_ids"),
    host: Host::values(|given| given[0].column_ids()),
    device: Device::Routine(Routine { name: "ColumnIds", sizes: Sizes::Same, scratch: &[], waits: Waits::First }),
    ..ONE_VALUE
};

impl<const R: usize, const C: usize> Value<R, C> {
    /// The column numbers 0, 1, 2 and so on in each row, in a value of the same size: R×C to R×C. Comparing with them
    /// selects columns: `ids.column_ids().equal(&chosen)` marks one column in each row.
    ///
    /// ```
    /// use hpmoe_kernels::Value;
    ///
    /// let scores = Value::<2, 3>::new(2, 3, vec![0.5; 6]);
    /// assert_eq!(scores.column_ids().as_slice(), [0.0, 1.0, 2.0, 0.0, 1.0, 2.0]);
    /// ```
    #[must_use]
    pub fn column_ids(&self) -> Self {
        let ids = (0..self.rows()).flat_map(|_| (0..self.cols()).map(|column| column as f32));
        Self::new(self.rows(), self.cols(), ids.collect())
    }
}
