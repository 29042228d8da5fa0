//! `value.pick(&ids)`: the numbers in the columns that ids name.

use super::elementwise::ONE_VALUE;
use super::rules::misshapen;
use crate::Value;
use crate::op::{
    Columns, Device, ElementType, Host, MOST, Misfit, Of, OperandKind, Operation, Routine, Shape, Sizes, Spelling,
    Waits,
};

/// The operation `pick`: the numbers in the columns that ids name.
pub(super) static OPERATION: Operation = Operation {
    spelling: Spelling::Method("pick"),
    operands: &[OperandKind::Value, OperandKind::Value],
    shape,
    host: Host::values(|given| picked::<MOST, MOST, MOST, MOST>(&given[0], &given[1])),
    device: Device::Routine(Routine {
        name: "Pick",
        sizes: Sizes::Picked,
        scratch: &[Columns::Repeats(Of::Result, 3), Columns::Once(128)],
        waits: Waits::BehindScratch,
    }),
    ..ONE_VALUE
};

fn shape(operands: &[Shape], _: Option<ElementType>) -> Result<Shape, Misfit> {
    let (value, ids) = (operands[0], operands[1]);
    if value.rows != ids.rows && value.rows != 1 {
        return Err(misshapen(
            format!(
                "`pick` needs as many rows of ids as the value has, or a value of one row, but the value has {} rows and the ids {}",
                value.rows, ids.rows
            ),
            format!("take ids with {} rows", value.rows),
        ));
    }
    Ok(Shape { element: ElementType::f32, ..ids })
}

/// The column that an id names; `None` if the id is not a whole number or there is no such column.
pub(super) fn column(id: f32, columns: usize) -> Option<usize> {
    (id >= 0.0 && id < columns as f32 && id.fract() == 0.0).then_some(id as usize)
}

impl<const R: usize, const C: usize> Value<R, C> {
    /// For each id, this value's number in the column that the id names, bit by bit: R×C (or 1×C, one row for all rows of
    /// ids) and ids of R×K to R×K. Ids are whole numbers from 0, for instance from [`top_k`](Self::top_k). An id that names no
    /// column (-1, a fraction, too large, NaN) gives 0.
    ///
    /// ```
    /// use hpmoe_kernels::Value;
    ///
    /// let scores = Value::<1, 4>::new(1, 4, vec![0.25, 0.5, 0.75, 1.0]);
    /// let ids = Value::<1, 3>::new(1, 3, vec![3.0, 0.0, -1.0]);
    /// assert_eq!(scores.pick(&ids).as_slice(), [1.0, 0.25, 0.0]);
    /// ```
    ///
    /// # Panics
    ///
    /// If value and ids have different numbers of rows at run time, unless the value's type has one row (1×C).
    #[must_use]
    pub fn pick<const R2: usize, const K: usize>(&self, ids: &Value<R2, K>) -> Value<R2, K> {
        const { assert!(R == R2 || R == 1, "`pick` needs as many rows of ids as the value has, or a value of one row") };
        picked(self, ids)
    }
}

fn picked<const R: usize, const C: usize, const R2: usize, const K: usize>(
    value: &Value<R, C>,
    ids: &Value<R2, K>,
) -> Value<R2, K> {
    let one_row = value.rows() == 1 && (R == 1 || R == MOST);
    assert!(
        one_row || value.rows() == ids.rows(),
        "`pick` needs ids for each row, but there are {} rows and ids for {}",
        value.rows(),
        ids.rows()
    );
    let mut numbers = Vec::with_capacity(ids.as_slice().len());
    for row in 0..ids.rows() {
        let from = value.row(if one_row { 0 } else { row });
        numbers.extend(ids.row(row).iter().map(|id| column(*id, from.len()).map_or(0.0, |column| from[column])));
    }
    Value::new(ids.rows(), ids.cols(), numbers).with_empty(ids.empty()).with_empty(value.empty())
}

#[cfg(test)]
mod tests {
    use super::super::tests::value;
    use super::*;

    #[test]
    fn each_row_has_its_ids() {
        assert_eq!(shape(&[value(16, 256), value(16, 8)], None), Ok(value(16, 8)));
        assert_eq!(shape(&[value(1, 256), value(16, 8)], None), Ok(value(16, 8)));
        let misfit = shape(&[value(16, 256), value(8, 8)], None).unwrap_err();
        assert!(misfit.problem.ends_with("but the value has 16 rows and the ids 8"), "{}", misfit.problem);
    }

    #[test]
    fn what_names_no_column_gives_zero() {
        let row = Value::<1, 2>::new(1, 2, vec![f32::NAN, 7.0]);
        let ids = Value::<2, 4>::new(2, 4, vec![1.0, 2.0, 0.5, f32::NAN, -0.0, f32::INFINITY, -1e30, 1.0]);
        let picked = row.pick(&ids);
        assert!(picked.row(1)[0].is_nan());
        assert_eq!((picked.row(0), &picked.row(1)[1..]), (&[7.0, 0.0, 0.0, 0.0][..], &[0.0, 0.0, 7.0][..]));
    }
}
