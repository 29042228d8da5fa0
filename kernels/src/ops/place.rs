//! `value.place::<E>(&ids)`: numbers in the columns that ids name, and zeros elsewhere.

use std::borrow::Borrow;

use super::elementwise::ONE_VALUE;
use super::pick::column;
use super::rules::misshapen;
use crate::Value;
use crate::op::{
    Columns, Device, ElementType, Host, MOST, Misfit, Of, OperandKind, Operation, Routine, Shape, Sizes, Spelling,
    Waits,
};

/// The operation `place`: numbers in the columns that ids name, and zeros elsewhere.
pub(super) static OPERATION: Operation = Operation {
    spelling: Spelling::Method("place"),
    operands: &[OperandKind::Value, OperandKind::Value, OperandKind::Size],
    shape,
    host: Host::values(|given| placed::<MOST, MOST, MOST>(&given[0], &given[1], given.sizes[0])),
    device: Device::Routine(Routine {
        name: "PlaceNumbers",
        sizes: Sizes::Columns,
        scratch: &[Columns::Repeats(Of::First, 3), Columns::Once(128)],
        waits: Waits::BehindScratch,
    }),
    ..ONE_VALUE
};

fn shape(operands: &[Shape], _: Option<ElementType>) -> Result<Shape, Misfit> {
    let (value, ids, columns) = (operands[0], operands[1], operands[2].rows);
    if (value.rows, value.cols) != (ids.rows, ids.cols) {
        return Err(misshapen(
            format!(
                "`place` takes an id for each number, but there are {}x{} numbers and {}x{} ids",
                value.rows, value.cols, ids.rows, ids.cols
            ),
            format!("take ids of {}x{}", value.rows, value.cols),
        ));
    }
    if columns == 0 {
        return Err(misshapen("`place::<E>`: E must be at least 1".to_owned(), "write `place::<EXPERTS>(&ids)`"));
    }
    Ok(Shape { element: ElementType::f32, cols: columns, ..value })
}

impl<const R: usize, const C: usize> Value<R, C> {
    /// Rows of E zeros, except that each number of this value is placed in the column that its id names, bit by bit:
    /// R×K and ids of R×K to R×E. `place` reverses [`pick`](Self::pick). If several ids of a row name the same column, the
    /// last number wins. Numbers whose id names no column are left out. A value of ones gives a mask.
    ///
    /// ```
    /// use hpmoe_kernels::Value;
    ///
    /// let weights = Value::<1, 3>::new(1, 3, vec![0.5, 0.25, 0.125]);
    /// let ids = Value::<1, 3>::new(1, 3, vec![3.0, 0.0, -1.0]);
    /// assert_eq!(weights.place::<4>(&ids).as_slice(), [0.25, 0.0, 0.0, 0.5]);
    /// ```
    ///
    /// # Panics
    ///
    /// If value and ids have different sizes at run time.
    #[must_use]
    pub fn place<const E: usize>(&self, ids: impl Borrow<Self>) -> Value<R, E> {
        const { assert!(E > 0, "`place::<E>`: E must be at least 1") };
        placed(self, ids.borrow(), E)
    }
}

fn placed<const R: usize, const C: usize, const E: usize>(
    value: &Value<R, C>,
    ids: &Value<R, C>,
    columns: usize,
) -> Value<R, E> {
    let sizes = [(value.rows(), value.cols()), (ids.rows(), ids.cols())];
    assert_eq!(sizes[0], sizes[1], "`place` takes an id for each number");
    let mut numbers = vec![0.0; value.rows() * columns];
    for row in 0..value.rows() {
        for (number, id) in value.row(row).iter().zip(ids.row(row)) {
            if let Some(column) = column(*id, columns) {
                numbers[row * columns + column] = *number;
            }
        }
    }
    Value::new(value.rows(), columns, numbers).with_empty(value.empty()).with_empty(ids.empty())
}

#[cfg(test)]
mod tests {
    use super::super::tests::value;
    use super::*;

    #[test]
    fn each_number_has_an_id() {
        let size = |rows| Shape { kind: OperandKind::Size, element: ElementType::f32, rows, cols: 0 };
        assert_eq!(shape(&[value(16, 8), value(16, 8), size(256)], None), Ok(value(16, 256)));
        let misfit = shape(&[value(16, 8), value(16, 6), size(256)], None).unwrap_err();
        assert!(misfit.problem.ends_with("but there are 16x8 numbers and 16x6 ids"), "{}", misfit.problem);
        assert!(shape(&[value(16, 8), value(16, 8), size(0)], None).is_err());
    }

    #[test]
    fn the_last_of_equal_ids_stays() {
        let numbers = Value::<1, 3>::new(1, 3, vec![1.0, 2.0, 3.0]);
        let ids = Value::<1, 3>::new(1, 3, vec![1.0, 1.0, 2.0]);
        assert_eq!(numbers.place::<2>(&ids).as_slice(), [0.0, 2.0]);
    }
}
