//! `value.weighted_sum(&weights)`: weighted sums of K consecutive rows.

use super::rules::{any_numbers, misshapen};
use crate::Value;
use crate::op::{
    Columns, Device, ElementType, Host, Misfit, OperandKind, Operation, Routine, Shape, Sizes, Spelling, TaskKind,
    Waits,
};

/// The operation `weighted_sum`: weighted sums over k.
pub(super) static OPERATION: Operation = Operation {
    spelling: Spelling::Method("weighted_sum"),
    cores: &[TaskKind::Vector],
    operands: &[OperandKind::Value, OperandKind::Value],
    takes_element: false,
    numbers: any_numbers,
    shape,
    host: Host::values(|given| weighted(&given[0], &given[1])),
    device: Device::Routine(Routine {
        name: "WeightedSum",
        sizes: Sizes::SumOverK,
        scratch: &[Columns::OfResult],
        waits: Waits::First,
    }),
};

fn shape(operands: &[Shape], _: Option<ElementType>) -> Result<Shape, Misfit> {
    let (rows, weights) = (operands[0], operands[1]);
    if rows.rows != weights.rows * weights.cols {
        return Err(misshapen(
            format!(
                "`weighted_sum` takes one row for each weight, but there are {} rows and {}x{} weights",
                rows.rows, weights.rows, weights.cols
            ),
            format!("for weights of {}x{}, sum over {} rows", weights.rows, weights.cols, weights.rows * weights.cols),
        ));
    }
    Ok(Shape { kind: OperandKind::Value, element: ElementType::f32, rows: weights.rows, cols: rows.cols })
}

impl<const R: usize, const C: usize> Value<R, C> {
    /// Result row b is the sum over k of row b·K + k times weight (b, k): (B·K)×C and B×K to B×C.
    ///
    /// Each sum starts with its first product and adds the others in ascending k; each product and each sum is rounded
    /// once. Rows of empty slots are skipped, whatever their weights are. If all K rows belong to empty slots,
    /// the sum is 0.
    ///
    /// ```
    /// use hpmoe_kernels::Value;
    ///
    /// let rows = Value::<4, 2>::new(4, 2, vec![1.0, 2.0, 10.0, 20.0, 3.0, 4.0, 30.0, 40.0]);
    /// let weights = Value::<2, 2>::new(2, 2, vec![1.0, 0.5, 2.0, 0.0]);
    /// assert_eq!(rows.weighted_sum(&weights).as_slice(), [6.0, 12.0, 6.0, 8.0]);
    /// ```
    ///
    /// # Panics
    ///
    /// If, at run time, this value does not have exactly one row for each weight.
    #[must_use]
    pub fn weighted_sum<const B: usize, const K: usize>(&self, weights: &Value<B, K>) -> Value<B, C> {
        const { assert!(R == B * K, "`weighted_sum` takes one row for each weight") };
        weighted(self, weights)
    }
}

/// The weighted sums of consecutive rows.
fn weighted<const R: usize, const C: usize, const B: usize, const K: usize>(
    value: &Value<R, C>,
    weights: &Value<B, K>,
) -> Value<B, C> {
    assert_eq!(value.rows(), weights.rows() * weights.cols(), "`weighted_sum` takes one row for each weight");
    let mut data = Vec::with_capacity(weights.rows() * value.cols());
    for b in 0..weights.rows() {
        let first = b * weights.cols();
        let factors = weights.row(b);
        let mut terms = factors.iter().enumerate().filter(|(k, _)| !value.is_empty(first + k));
        let mut sums: Vec<f32> = match terms.next() {
            Some((k, factor)) => value.row(first + k).iter().map(|x| x * factor).collect(),
            None => vec![0.0; value.cols()],
        };
        for (k, factor) in terms {
            for (sum, x) in sums.iter_mut().zip(value.row(first + k)) {
                *sum += x * factor;
            }
        }
        data.extend(sums);
    }
    Value::new(weights.rows(), value.cols(), data)
}

#[cfg(test)]
mod tests {
    use super::super::tests::value;
    use super::*;

    #[test]
    fn takes_one_row_for_each_weight() {
        assert_eq!(shape(&[value(64, 1024), value(16, 4)], None), Ok(value(16, 1024)));
        let misfit = shape(&[value(64, 1024), value(16, 8)], None).unwrap_err();
        assert_eq!(
            misfit.problem,
            "`weighted_sum` takes one row for each weight, but there are 64 rows and 16x8 weights"
        );
        assert_eq!(misfit.help, "for weights of 16x8, sum over 128 rows");
    }

    #[test]
    fn sums_in_the_order_of_k() {
        let rows = Value::<3, 1>::new(3, 1, vec![16_777_216.0, 1.0, 1.0]);
        let sum = rows.weighted_sum(&Value::<1, 3>::new(1, 3, vec![1.0; 3]));
        assert_eq!(sum.as_slice(), [16_777_216.0], "each one is lost when it is added by itself");
    }
}
