//! `value.reshape::<ROWS, COLS>()`: the same numbers in more or fewer rows.

use super::elementwise::ONE_VALUE;
use super::rules::misshapen;
use crate::Value;
use crate::op::{
    Columns, Device, ElementType, Host, MOST, Misfit, OperandKind, Operation, Routine, Shape, Sizes, Spelling, Waits,
};

/// The operation `reshape`: the same numbers in rows of another length.
pub(super) static OPERATION: Operation = Operation {
    spelling: Spelling::Method("reshape"),
    operands: &[OperandKind::Value, OperandKind::Size, OperandKind::Size],
    shape,
    host: Host::values(|given| reshaped::<MOST, MOST, MOST, MOST>(&given[0], given.sizes[1])),
    device: Device::Routine(Routine {
        name: "Reshape",
        sizes: Sizes::Reshaped,
        scratch: &[Columns::OnceOfResult],
        waits: Waits::First,
    }),
    ..ONE_VALUE
};

fn shape(operands: &[Shape], _: Option<ElementType>) -> Result<Shape, Misfit> {
    let (value, rows, cols) = (operands[0], operands[1].rows, operands[2].rows);
    let wrong = |problem: String| {
        let help = "state a size with the same number of elements: `x.reshape::<ROWS, COLS>()` splits each row into several, or joins several rows into one";
        Err(misshapen(problem, help))
    };
    let count = rows.checked_mul(cols).unwrap_or(0);
    if count == 0 || value.rows.checked_mul(value.cols) != Some(count) {
        return wrong(format!("`reshape` keeps all numbers, but {}x{} are not {rows}x{cols}", value.rows, value.cols));
    }
    if rows % value.rows != 0 && value.rows % rows != 0 {
        return wrong(format!("`reshape` divides rows or joins them, but {} rows can't become {rows}", value.rows));
    }
    Ok(Shape { element: ElementType::f32, rows, cols, ..value })
}

impl<const R: usize, const C: usize> Value<R, C> {
    /// The same numbers, row after row, in rows of COLS columns: R×C to ROWS×COLS. One of R and ROWS is a multiple of
    /// the other: either each row is split into several rows, or several consecutive rows are joined into one. After a
    /// split, row operations work on groups of columns:
    ///
    /// ```
    /// use hpmoe_kernels::Value;
    ///
    /// let scores = Value::<1, 6>::new(1, 6, vec![3.0, 1.0, 2.0, 9.0, 8.0, 7.0]);
    /// let best_of_groups = scores.reshape::<2, 3>().row_max().reshape::<1, 2>();
    /// assert_eq!(best_of_groups.as_slice(), [3.0, 9.0]);
    /// ```
    ///
    /// # Panics
    ///
    /// If, at run time, there are fewer than C columns, or the rows can't be joined into whole ones.
    #[must_use]
    pub fn reshape<const ROWS: usize, const COLS: usize>(&self) -> Value<ROWS, COLS> {
        const {
            assert!(R * C == ROWS * COLS, "`reshape`: both sizes must have the same number of elements");
            assert!(ROWS % R == 0 || R % ROWS == 0, "`reshape`: the rows of one size must divide those of the other");
        };
        assert_eq!(self.cols(), C, "`reshape` takes all of the columns that a type states");
        reshaped(self, COLS)
    }
}

fn reshaped<const R: usize, const C: usize, const ROWS: usize, const COLS: usize>(
    value: &Value<R, C>,
    cols: usize,
) -> Value<ROWS, COLS> {
    let count = value.as_slice().len();
    assert!(count % cols == 0, "`reshape` makes whole rows of {cols} numbers, but there are {count}");
    Value::new(count / cols, cols, value.as_slice().to_vec())
}

#[cfg(test)]
mod tests {
    use super::super::tests::value;
    use super::*;

    #[test]
    fn numbers_stay_and_rows_divide() {
        let size = |rows| Shape { kind: OperandKind::Size, element: ElementType::f32, rows, cols: 0 };
        assert_eq!(shape(&[value(16, 256), size(128), size(32)], None), Ok(value(128, 32)));
        assert_eq!(shape(&[value(128, 1), size(16), size(8)], None), Ok(value(16, 8)));
        let misfit = shape(&[value(16, 256), size(128), size(64)], None).unwrap_err();
        assert_eq!(misfit.problem, "`reshape` keeps all numbers, but 16x256 are not 128x64");
        let misfit = shape(&[value(4, 6), size(6), size(4)], None).unwrap_err();
        assert_eq!(misfit.problem, "`reshape` divides rows or joins them, but 4 rows can't become 6");
        assert!(shape(&[value(4, 6), size(0), size(4)], None).is_err());
    }
}
