//! `value.odd_columns()`: every second column, starting with the second.

use super::elementwise::{ONE_VALUE, half_of_columns};
use crate::Value;
use crate::op::{Device, Host, MOST, Operation, Routine, Sizes, Spelling, Waits};

/// The operation `odd_columns`: every second column, starting with the second.
pub(super) static OPERATION: Operation = Operation {
    spelling: Spelling::Method("odd_columns"),
    shape: |operands, _| half_of_columns("odd_columns", operands),
    host: Host::values(|given| given[0].odd_columns::<{ MOST / 2 }>().any()),
    device: Device::Routine(Routine {
        name: "OddColumns",
        sizes: Sizes::HalfOfColumns,
        scratch: &[],
        waits: Waits::Never,
    }),
    ..ONE_VALUE
};

impl<const R: usize, const C: usize> Value<R, C> {
    /// Every second column, starting with the second: R×2H to R×H. If H can't be inferred, as on the right of an operator, the call states it:
    /// `x.odd_columns::<64>()`.
    ///
    /// ```
    /// use hpmoe_kernels::Value;
    ///
    /// let pairs = Value::<1, 4>::new(1, 4, vec![1.0, 2.0, 3.0, 4.0]);
    /// assert_eq!(pairs.odd_columns::<2>().as_slice(), [2.0, 4.0]);
    /// ```
    ///
    /// # Panics
    ///
    /// If the number of columns is odd at run time.
    #[must_use]
    pub fn odd_columns<const H: usize>(&self) -> Value<R, H> {
        self.every_second(1, "odd_columns")
    }
}
