//! `value.fold_rows::<B>()`: B rows, each the sum of an equal number of consecutive rows.

use super::rules::{any_numbers, misshapen};
use crate::Value;
use crate::op::{
    Device, ElementType, Host, Misfit, OperandKind, Operation, Routine, Shape, Sizes, Spelling, TaskKind, Waits,
};

/// The operation `fold_rows`, which sums consecutive rows.
pub(super) static OPERATION: Operation = Operation {
    spelling: Spelling::Method("fold_rows"),
    cores: &[TaskKind::Vector],
    operands: &[OperandKind::Value, OperandKind::Size],
    takes_element: false,
    numbers: any_numbers,
    shape,
    host: Host::values(|given| folded(&given[0], given[0].rows() / given.sizes[0])),
    device: Device::Routine(Routine {
        name: "FoldRows",
        sizes: Sizes::RowsForEachToken,
        scratch: &[],
        waits: Waits::Never,
    }),
};

fn shape(operands: &[Shape], _: Option<ElementType>) -> Result<Shape, Misfit> {
    let (value, rows) = (operands[0], operands[1].rows);
    if rows == 0 || value.rows % rows != 0 {
        return Err(misshapen(
            format!("`fold_rows` can't sum {} rows into {rows} equal groups", value.rows),
            format!("fold into a number of rows that divides {}", value.rows),
        ));
    }
    Ok(Shape { kind: OperandKind::Value, element: ElementType::f32, rows, cols: value.cols })
}

impl<const R: usize, const C: usize> Value<R, C> {
    /// Sums of K = R / B consecutive rows: R×C to B×C. Result row b is row b·K, plus row b·K + 1, and so on in this order,
    /// with each sum rounded once. Rows of empty slots are skipped; if all K rows belong to empty slots, the sum is 0.
    ///
    /// ```
    /// use hpmoe_kernels::Value;
    ///
    /// let slots = Value::<4, 2>::new(4, 2, vec![1.0, 2.0, 10.0, 20.0, 3.0, 4.0, 30.0, 40.0]);
    /// assert_eq!(slots.fold_rows::<2>().as_slice(), [11.0, 22.0, 33.0, 44.0]);
    /// ```
    ///
    /// # Panics
    ///
    /// If the number of rows at run time is not a multiple of K.
    #[must_use]
    pub fn fold_rows<const B: usize>(self) -> Value<B, C> {
        const { assert!(B > 0 && R % B == 0, "`fold_rows::<B>`: B must divide the rows of the value") };
        folded(&self, R / B)
    }
}

/// The sums of each `terms` consecutive rows.
fn folded<const R: usize, const C: usize, const B: usize>(value: &Value<R, C>, terms: usize) -> Value<B, C> {
    assert!(value.rows() % terms == 0, "`fold_rows` sums groups of {terms} rows, but there are {} rows", value.rows());
    let mut data = Vec::with_capacity(value.rows() / terms * value.cols());
    for first in (0..value.rows()).step_by(terms) {
        let mut rows = (first..first + terms).filter(|row| !value.is_empty(*row));
        let mut sums = rows.next().map_or_else(|| vec![0.0; value.cols()], |row| value.row(row).to_vec());
        for row in rows {
            for (sum, x) in sums.iter_mut().zip(value.row(row)) {
                *sum += x;
            }
        }
        data.extend(sums);
    }
    Value::new(value.rows() / terms, value.cols(), data)
}

#[cfg(test)]
mod tests {
    use super::super::tests::value;
    use super::*;

    #[test]
    fn folds_into_divisors() {
        let size = |rows| Shape { kind: OperandKind::Size, element: ElementType::f32, rows, cols: 0 };
        assert_eq!(shape(&[value(32, 64), size(4)], None), Ok(value(4, 64)));
        assert_eq!(
            shape(&[value(32, 64), size(5)], None).unwrap_err().problem,
            "`fold_rows` can't sum 32 rows into 5 equal groups"
        );
    }
}
