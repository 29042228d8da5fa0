//! `value.columns::<N>(first)`: N columns from column `first` on.

use super::elementwise::ONE_VALUE;
use super::rules::misshapen;
use crate::Value;
use crate::op::{
    Columns, Device, ElementType, Host, Misfit, OperandKind, Operation, Routine, Shape, Sizes, Spelling, Waits,
};

/// The operation `columns`: consecutive columns of a value, from the column that an index names.
pub(super) static OPERATION: Operation = Operation {
    spelling: Spelling::Method("columns"),
    operands: &[OperandKind::Value, OperandKind::Index, OperandKind::Size],
    shape,
    host: Host::values(|given| slice(&given[0], given.sizes[0], given.sizes[1])),
    device: Device::Routine(Routine {
        name: "TakeColumns",
        sizes: Sizes::Slice,
        scratch: &[Columns::OnceOfResult],
        waits: Waits::First,
    }),
    ..ONE_VALUE
};

fn shape(operands: &[Shape], _: Option<ElementType>) -> Result<Shape, Misfit> {
    let (value, first, columns) = (operands[0], operands[1].rows, operands[2].rows);
    if columns == 0 || first.saturating_add(columns) > value.cols {
        return Err(misshapen(
            format!(
                "`columns::<{columns}>({first})` takes columns that a value of {} columns doesn't have",
                value.cols
            ),
            format!("take at least one of its {} columns, and none beyond the last", value.cols),
        ));
    }
    Ok(Shape { element: ElementType::f32, cols: columns, ..value })
}

impl<const R: usize, const C: usize> Value<R, C> {
    /// N consecutive columns, from column `first` on, bit by bit: R×C to R×N. `first` is a constant, the variable of a loop, or an
    /// expression of them.
    ///
    /// ```
    /// use hpmoe_kernels::Value;
    ///
    /// let row = Value::<1, 5>::new(1, 5, vec![0.0, 1.0, 2.0, 3.0, 4.0]);
    /// assert_eq!(row.columns::<2>(3).as_slice(), [3.0, 4.0]);
    /// ```
    ///
    /// # Panics
    ///
    /// If the value does not have these columns.
    #[must_use]
    pub fn columns<const N: usize>(&self, first: usize) -> Value<R, N> {
        const { assert!(N > 0 && N <= C, "`columns::<N>`: N must be from 1 to the columns of the value") };
        slice(self, first, N)
    }
}

fn slice<const R: usize, const C: usize, const N: usize>(
    value: &Value<R, C>,
    first: usize,
    columns: usize,
) -> Value<R, N> {
    let end = first + columns;
    assert!(end <= value.cols(), "`columns` takes columns {first} to {end} of {}", value.cols());
    let numbers = (0..value.rows()).flat_map(|row| value.row(row)[first..end].iter().copied());
    Value::new(value.rows(), columns, numbers.collect()).with_empty(value.empty())
}

#[cfg(test)]
mod tests {
    use super::super::tests::value;
    use super::*;

    #[test]
    fn columns_are_there() {
        let size = |rows| Shape { kind: OperandKind::Size, element: ElementType::f32, rows, cols: 0 };
        assert_eq!(shape(&[value(16, 258), size(256), size(2)], None), Ok(value(16, 2)));
        let misfit = shape(&[value(16, 258), size(257), size(2)], None).unwrap_err();
        assert_eq!(misfit.problem, "`columns::<2>(257)` takes columns that a value of 258 columns doesn't have");
        assert!(shape(&[value(16, 258), size(0), size(0)], None).is_err());
    }
}
