//! `value.repeat_columns::<C>()`: repeats each column in place.

use super::elementwise::ONE_VALUE;
use super::rules::misshapen;
use crate::Value;
use crate::op::{
    Columns, Device, ElementType, Given, Host, MOST, Misfit, Of, OperandKind, Operation, Routine, Shape, Sizes,
    Spelling, Waits,
};

/// The operation `repeat_columns`, which repeats one number per group of columns for each column of the group.
pub(super) static OPERATION: Operation = Operation {
    spelling: Spelling::Method("repeat_columns"),
    operands: &[OperandKind::Value, OperandKind::Size],
    shape,
    host: Host::values(|given: Given<'_>| repeated::<MOST, MOST, MOST>(&given[0], given.sizes[0])),
    device: Device::Routine(Routine {
        name: "RepeatColumns",
        sizes: Sizes::Columns,
        scratch: &[Columns::Blocks(Of::First), Columns::OnceOfResult],
        waits: Waits::First,
    }),
    ..ONE_VALUE
};

fn shape(operands: &[Shape], _: Option<ElementType>) -> Result<Shape, Misfit> {
    let (value, cols) = (operands[0], operands[1].rows);
    if cols == 0 || value.cols == 0 || cols % value.cols != 0 {
        return Err(misshapen(
            format!(
                "`repeat_columns` repeats all columns equally often, so it can't make {cols} columns from {}",
                value.cols
            ),
            format!("make a multiple of {} columns", value.cols),
        ));
    }
    Ok(Shape { element: ElementType::f32, cols, ..value })
}

impl<const R: usize, const C: usize> Value<R, C> {
    /// Repeats each column D / G times, next to one another, bit by bit: R×G to R×D. This spreads one number per group of
    /// columns, such as a scale, over the group's columns. The value must have as many columns as its type, and D must be a
    /// multiple of G.
    ///
    /// ```
    /// use hpmoe_kernels::Value;
    ///
    /// let scales = Value::<1, 2>::new(1, 2, vec![0.5, 4.0]);
    /// assert_eq!(scales.repeat_columns::<6>().as_slice(), [0.5, 0.5, 0.5, 4.0, 4.0, 4.0]);
    /// ```
    #[must_use]
    pub fn repeat_columns<const D: usize>(&self) -> Value<R, D> {
        const { assert!(D > 0 && D % C == 0, "`repeat_columns::<D>`: D must be a multiple of the value's columns") };
        repeated(self, D)
    }
}

fn repeated<const R: usize, const C: usize, const D: usize>(value: &Value<R, C>, cols: usize) -> Value<R, D> {
    let times = cols / value.cols();
    let numbers = value.as_slice().iter().flat_map(|number| std::iter::repeat_n(*number, times)).collect();
    Value::new(value.rows(), cols, numbers).with_empty(value.empty())
}

#[cfg(test)]
mod tests {
    use super::super::tests::value;
    use super::*;

    #[test]
    fn all_columns_are_taken_alike() {
        let size = |cols: usize| Shape { kind: OperandKind::Size, rows: cols, cols: 0, ..value(1, 1) };
        assert_eq!(shape(&[value(8, 56), size(7168)], None), Ok(value(8, 7168)));
        let misfit = shape(&[value(8, 56), size(7100)], None).unwrap_err();
        assert!(misfit.problem.ends_with("it can't make 7100 columns from 56"), "{}", misfit.problem);
        assert!(shape(&[value(8, 56), size(0)], None).is_err());
    }
}
