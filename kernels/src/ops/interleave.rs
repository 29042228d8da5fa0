//! `even.interleave(&odd)`: alternates the columns of two values.

use super::elementwise::ONE_VALUE;
use super::rules::misshapen;
use crate::op::{
    Columns, Device, ElementType, Host, MOST, Misfit, OperandKind, Operation, Routine, Shape, Sizes, Spelling, Waits,
};
use crate::{Rows, Value};

/// The operation `interleave`: columns of two values alternately.
pub(super) static OPERATION: Operation = Operation {
    spelling: Spelling::Method("interleave"),
    operands: &[OperandKind::Value, OperandKind::Value],
    shape,
    host: Host::values(|given| in_turn::<MOST, MOST, MOST>(&given[0], &given[1])),
    device: Device::Routine(Routine {
        name: "Interleave",
        sizes: Sizes::Columns,
        scratch: &[Columns::InTwoParts, Columns::OnceOfResult],
        waits: Waits::First,
    }),
    ..ONE_VALUE
};

fn shape(operands: &[Shape], _: Option<ElementType>) -> Result<Shape, Misfit> {
    let (even, odd) = (operands[0], operands[1]);
    if (even.rows, even.cols) != (odd.rows, odd.cols) {
        return Err(misshapen(
            format!(
                "`interleave` takes values of the same size, but the left one is {}x{} and the right one {}x{}",
                even.rows, even.cols, odd.rows, odd.cols
            ),
            "load both from tiles of the same size",
        ));
    }
    Ok(Shape { element: ElementType::f32, cols: 2 * even.cols, ..even })
}

impl<const R: usize, const C: usize> Value<R, C> {
    /// Alternates the columns of this value and of `odd`, bit by bit: R×H and R×H to R×2H. `interleave` reverses
    /// [`even_columns`](Self::even_columns) and [`odd_columns`](Self::odd_columns). If 2H can't be inferred, the call
    /// states it: `even.interleave::<64>(&odd)`.
    ///
    /// ```
    /// use hpmoe_kernels::Value;
    ///
    /// let (even, odd) = (Value::<1, 2>::new(1, 2, vec![1.0, 3.0]), Value::<1, 2>::new(1, 2, vec![2.0, 4.0]));
    /// assert_eq!(even.interleave::<4>(&odd).as_slice(), [1.0, 2.0, 3.0, 4.0]);
    /// ```
    ///
    /// # Panics
    ///
    /// If the values have different sizes at run time.
    #[must_use]
    pub fn interleave<const E: usize>(&self, odd: impl Rows<R>) -> Value<R, E> {
        const { assert!(E == 2 * C, "`interleave::<E>`: E must be twice the columns of each value") };
        assert_eq!(odd.most_cols(), C, "`interleave` takes values of the same size");
        in_turn(self, &odd)
    }
}

fn in_turn<const R: usize, const C: usize, const E: usize>(even: &Value<R, C>, odd: &impl Rows<R>) -> Value<R, E> {
    let sizes = [(even.rows(), even.cols()), (odd.count(), odd.cols())];
    assert_eq!(sizes[0], sizes[1], "`interleave` takes values of the same size");
    let row = |row: usize| even.row(row).iter().zip(odd.numbers(row)).flat_map(|(a, b)| [*a, *b]);
    let joined = Value::new(even.rows(), 2 * even.cols(), (0..even.rows()).flat_map(row).collect());
    joined.with_empty(even.empty()).with_empty(odd.which_are_empty())
}

#[cfg(test)]
mod tests {
    use super::super::tests::value;
    use super::*;

    #[test]
    fn both_have_one_size() {
        assert_eq!(shape(&[value(16, 6), value(16, 6)], None), Ok(value(16, 12)));
        let misfit = shape(&[value(16, 6), value(16, 1)], None).unwrap_err();
        assert!(misfit.problem.ends_with("but the left one is 16x6 and the right one 16x1"), "{}", misfit.problem);
    }
}
