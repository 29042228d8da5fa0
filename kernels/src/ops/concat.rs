//! `a.concat(&b)`: the columns of one value, then those of another.

use super::elementwise::ONE_VALUE;
use super::rules::misshapen;
use crate::op::{
    Columns, Device, ElementType, Host, MOST, Misfit, OperandKind, Operation, Routine, Shape, Sizes, Spelling, Waits,
};
use crate::{Rows, Value};

/// The operation `concat`: the columns of one value, followed by those of another.
pub(super) static OPERATION: Operation = Operation {
    spelling: Spelling::Method("concat"),
    operands: &[OperandKind::Value, OperandKind::Value],
    shape,
    host: Host::values(|given| joined::<MOST, MOST, MOST>(&given[0], &given[1])),
    device: Device::Routine(Routine {
        name: "Concat",
        sizes: Sizes::Columns,
        scratch: &[Columns::InTwoParts, Columns::OnceOfResult],
        waits: Waits::First,
    }),
    ..ONE_VALUE
};

fn shape(operands: &[Shape], _: Option<ElementType>) -> Result<Shape, Misfit> {
    let (left, right) = (operands[0], operands[1]);
    if left.rows != right.rows {
        return Err(misshapen(
            format!(
                "`concat` takes values with the same number of rows, but these have {} and {}",
                left.rows, right.rows
            ),
            format!(
                "write `b.broadcast::<{}, {}>()` first, or take tiles with the same number of rows",
                left.rows, right.cols
            ),
        ));
    }
    Ok(Shape { element: ElementType::f32, cols: left.cols + right.cols, ..left })
}

impl<const R: usize, const C: usize> Value<R, C> {
    /// The columns of this value, followed by the columns of `right`, bit by bit: R×C and R×D to R×E, where E = C + D.
    /// If E can't be inferred, the call states it: `a.concat::<8>(&b)`.
    ///
    /// ```
    /// use hpmoe_kernels::Value;
    ///
    /// let (a, b) = (Value::<2, 1>::new(2, 1, vec![1.0, 2.0]), Value::<2, 2>::new(2, 2, vec![3.0, 4.0, 5.0, 6.0]));
    /// assert_eq!(a.concat::<3>(&b).as_slice(), [1.0, 3.0, 4.0, 2.0, 5.0, 6.0]);
    /// ```
    ///
    /// # Panics
    ///
    /// If E is not C + D, or the values have different numbers of rows at run time.
    #[must_use]
    pub fn concat<const E: usize>(&self, right: impl Rows<R>) -> Value<R, E> {
        assert_eq!(C + right.most_cols(), E, "`concat` makes a value of the columns of both");
        joined(self, &right)
    }
}

fn joined<const R: usize, const C: usize, const E: usize>(left: &Value<R, C>, right: &impl Rows<R>) -> Value<R, E> {
    assert_eq!(left.rows(), right.count(), "`concat` takes values with the same number of rows");
    let numbers: Vec<f32> =
        (0..left.rows()).flat_map(|row| left.row(row).iter().chain(right.numbers(row)).copied()).collect();
    let cols = left.cols() + right.cols();
    Value::new(left.rows(), cols, numbers).with_empty(left.empty()).with_empty(right.which_are_empty())
}

#[cfg(test)]
mod tests {
    use super::super::tests::value;
    use super::*;

    #[test]
    fn rows_are_as_many() {
        assert_eq!(shape(&[value(16, 6), value(16, 2)], None), Ok(value(16, 8)));
        let misfit = shape(&[value(16, 6), value(1, 2)], None).unwrap_err();
        assert_eq!(misfit.problem, "`concat` takes values with the same number of rows, but these have 16 and 1");
    }

    #[test]
    #[should_panic(expected = "`concat` makes a value of the columns of both")]
    fn the_result_has_the_columns_of_both() {
        let a = Value::<1, 2>::new(1, 2, vec![1.0, 2.0]);
        let _ = a.concat::<5>(&a);
    }
}
