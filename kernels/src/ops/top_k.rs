//! `value.top_k::<K>()`: the columns of the K largest numbers of each row.

use std::cmp::Ordering;

use super::elementwise::ONE_VALUE;
use super::rules::misshapen;
use crate::Value;
use crate::op::{
    Columns, Device, ElementType, Host, Misfit, Of, OperandKind, Operation, Routine, Shape, Sizes, Spelling, Waits,
};

/// The operation `top_k`: the columns of each row's largest numbers.
pub(super) static OPERATION: Operation = Operation {
    spelling: Spelling::Method("top_k"),
    operands: &[OperandKind::Value, OperandKind::Size],
    shape,
    host: Host::values(|given| largest(&given[0], given.sizes[0])),
    device: Device::Routine(Routine {
        name: "TopK",
        sizes: Sizes::Columns,
        // Numbers that are left, ids that are left, and one number for all columns; lanes; a number of each row; bits.
        scratch: &[Columns::Repeats(Of::First, 3), Columns::Fixed(64), Columns::Fixed(1), Columns::Once(128)],
        waits: Waits::BehindScratch,
    }),
    ..ONE_VALUE
};

fn shape(operands: &[Shape], _: Option<ElementType>) -> Result<Shape, Misfit> {
    let (value, most) = (operands[0], operands[1].rows);
    if most == 0 || most > value.cols {
        return Err(misshapen(
            format!("`top_k::<{most}>` can't choose {most} of {} columns", value.cols),
            format!("choose from 1 to {}", value.cols),
        ));
    }
    Ok(Shape { element: ElementType::f32, cols: most, ..value })
}

impl<const R: usize, const C: usize> Value<R, C> {
    /// The columns of the K largest numbers of each row, as whole numbers from 0: R×C to R×K. The largest number comes
    /// first. Among equal numbers (zeros of either sign are equal), the lower column comes first. NaN counts as -∞. The
    /// K columns of a row are always different.
    ///
    /// ```
    /// use hpmoe_kernels::Value;
    ///
    /// let scores = Value::<1, 5>::new(1, 5, vec![0.5, 2.0, f32::NAN, 2.0, 0.5]);
    /// assert_eq!(scores.top_k::<3>().as_slice(), [1.0, 3.0, 0.0]);
    /// ```
    ///
    /// # Panics
    ///
    /// If there are fewer than K columns at run time.
    #[must_use]
    pub fn top_k<const K: usize>(&self) -> Value<R, K> {
        const { assert!(K > 0 && K <= C, "`top_k::<K>`: K must be from 1 to the columns of the value") };
        largest(self, K)
    }
}

fn largest<const R: usize, const C: usize, const K: usize>(value: &Value<R, C>, most: usize) -> Value<R, K> {
    assert!(most <= value.cols(), "`top_k` chooses {most} of {} columns", value.cols());
    let mut ids = Vec::with_capacity(value.rows() * most);
    for row in 0..value.rows() {
        let place: Vec<f32> = value.row(row).iter().map(|x| if x.is_nan() { f32::NEG_INFINITY } else { *x }).collect();
        let mut columns: Vec<usize> = (0..place.len()).collect();
        // Stable: of equal numbers the lower column stays first.
        columns.sort_by(|&a, &b| place[b].partial_cmp(&place[a]).unwrap_or(Ordering::Equal));
        ids.extend(columns[..most].iter().map(|&column| column as f32));
    }
    Value::new(value.rows(), most, ids).with_empty(value.empty())
}

#[cfg(test)]
mod tests {
    use super::super::tests::value;
    use super::*;

    fn size(rows: usize) -> Shape {
        Shape { kind: OperandKind::Size, element: ElementType::f32, rows, cols: 0 }
    }

    #[test]
    fn no_more_are_chosen_than_there_are() {
        assert_eq!(shape(&[value(16, 256), size(8)], None), Ok(value(16, 8)));
        assert_eq!(shape(&[value(16, 8), size(8)], None), Ok(value(16, 8)));
        let misfit = shape(&[value(16, 8), size(9)], None).unwrap_err();
        assert_eq!(misfit.problem, "`top_k::<9>` can't choose 9 of 8 columns");
        assert_eq!(misfit.help, "choose from 1 to 8");
        assert!(shape(&[value(16, 8), size(0)], None).is_err());
    }

    #[test]
    fn columns_of_a_row_are_different_whatever_it_holds() {
        let none = Value::<1, 4>::new(1, 4, vec![f32::NEG_INFINITY, f32::NAN, f32::NEG_INFINITY, f32::NEG_INFINITY]);
        assert_eq!(none.top_k::<4>().as_slice(), [0.0, 1.0, 2.0, 3.0]);
        let zeros = Value::<1, 4>::new(1, 4, vec![-0.0, -1.0, 0.0, f32::INFINITY]);
        assert_eq!(zeros.top_k::<3>().as_slice(), [3.0, 0.0, 2.0]);
    }
}
