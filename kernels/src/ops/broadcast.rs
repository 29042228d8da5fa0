//! `value.broadcast::<R, C>()`: repeats one row or one column to the size of a larger value.

use super::elementwise::ONE_VALUE;
use super::rules::misshapen;
use crate::Value;
use crate::op::{Device, ElementType, Misfit, OperandKind, Operation, Shape, Spelling};

/// The operation `broadcast`, which gives a value a larger type.
pub(super) static OPERATION: Operation = Operation {
    spelling: Spelling::Method("broadcast"),
    operands: &[OperandKind::Value, OperandKind::Size, OperandKind::Size],
    shape,
    device: Device::Broadcast,
    ..ONE_VALUE
};

fn shape(operands: &[Shape], _: Option<ElementType>) -> Result<Shape, Misfit> {
    let (value, size) = (operands[0], Shape { rows: operands[1].rows, cols: operands[2].rows, ..operands[0] });
    if value.spreads_over(&size) {
        return Ok(Shape { element: ElementType::f32, ..size });
    }
    Err(misshapen(
        format!(
            "`broadcast` repeats one row, one column or one number, so it can't make a value of {2}x{3} from one of {0}x{1}",
            value.rows, value.cols, size.rows, size.cols
        ),
        format!(
            "take a value of 1x{1}, {0}x1 or 1x1, or write `broadcast::<{2}, {3}>()`",
            size.rows, size.cols, value.rows, value.cols
        ),
    ))
}

impl<const R: usize, const C: usize> Value<R, C> {
    /// Repeats one row, one column or one number: 1×C2, R2×1 or 1×1 to R2×C2. At run time, the result takes the numbers of
    /// rows and columns of the value that it is combined with, or of the tile that it is stored in. `broadcast` is needed
    /// only on the left of a larger value, as in `row.broadcast::<ROWS, COLS>() - &x`; on the right, operators broadcast by
    /// themselves.
    ///
    /// ```
    /// use hpmoe_kernels::Value;
    ///
    /// let row = Value::<1, 3>::new(1, 3, vec![1.0, 2.0, 3.0]);
    /// let x = Value::<4, 3>::new(2, 3, vec![1.0; 6]);
    /// let difference = row.broadcast::<4, 3>() - &x;
    /// assert_eq!((difference.rows(), difference.as_slice()), (2, &[0.0, 1.0, 2.0, 0.0, 1.0, 2.0][..]));
    /// ```
    #[must_use]
    pub fn broadcast<const R2: usize, const C2: usize>(&self) -> Value<R2, C2> {
        self.opened()
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::value;
    use super::*;

    #[test]
    fn one_becomes_several() {
        let size = |rows| Shape { kind: OperandKind::Size, element: ElementType::f32, rows, cols: 0 };
        assert_eq!(shape(&[value(1, 16), size(8), size(16)], None), Ok(value(8, 16)));
        assert_eq!(shape(&[value(8, 1), size(8), size(16)], None), Ok(value(8, 16)));
        let misfit = shape(&[value(2, 16), size(8), size(16)], None).unwrap_err();
        assert_eq!(
            misfit.problem,
            "`broadcast` repeats one row, one column or one number, so it can't make a value of 8x16 from one of 2x16"
        );
    }
}
