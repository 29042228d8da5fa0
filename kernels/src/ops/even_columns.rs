//! `value.even_columns()`: every second column, starting with the first.

use super::elementwise::{ONE_VALUE, half_of_columns};
use crate::Value;
use crate::op::{Device, Host, MOST, Operation, Routine, Sizes, Spelling, Waits};

/// The operation `even_columns`: every second column, starting with the first.
pub(super) static OPERATION: Operation = Operation {
    spelling: Spelling::Method("even_columns"),
    shape: |operands, _| half_of_columns("even_columns", operands),
    host: Host::values(|given| given[0].even_columns::<{ MOST / 2 }>().any()),
    device: Device::Routine(Routine {
        name: "EvenColumns",
        sizes: Sizes::HalfOfColumns,
        scratch: &[],
        waits: Waits::Never,
    }),
    ..ONE_VALUE
};

impl<const R: usize, const C: usize> Value<R, C> {
    /// Every second column, starting with the first: R×2H to R×H. If H can't be inferred, as on the right of an operator, the call states it:
    /// `x.even_columns::<64>()`.
    ///
    /// ```
    /// use hpmoe_kernels::Value;
    ///
    /// let pairs = Value::<1, 4>::new(1, 4, vec![1.0, 2.0, 3.0, 4.0]);
    /// assert_eq!(pairs.even_columns::<2>().as_slice(), [1.0, 3.0]);
    /// ```
    ///
    /// # Panics
    ///
    /// If the number of columns is odd at run time.
    #[must_use]
    pub fn even_columns<const H: usize>(&self) -> Value<R, H> {
        self.every_second(0, "even_columns")
    }
}
