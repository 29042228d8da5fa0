//! `value.scale_rows(&numbers)`: each row times its number.

use super::elementwise::ONE_VALUE;
use super::misshapen;
use crate::Value;
use crate::op::{Device, ElementType, Host, Misfit, OperandKind, Operation, Routine, Shape, Sizes, Spelling, Waits};

/// Rows and a column.
pub(super) static OPERATION: Operation = Operation {
    spelling: Spelling::Method("scale_rows"),
    operands: &[OperandKind::Value, OperandKind::Value],
    shape,
    host: Host::Values(|given| given[0].scale_rows(&given[1].bounded())),
    device: Device::Routine(Routine {
        name: "ScaleRows",
        sizes: Sizes::NumberForEachRow,
        scratch: &[],
        waits: Waits::First,
    }),
    ..ONE_VALUE
};

fn shape(operands: &[Shape], _: Option<ElementType>) -> Result<Shape, Misfit> {
    let (rows, numbers) = (operands[0], operands[1]);
    if (numbers.rows, numbers.cols) != (rows.rows, 1) {
        return Err(misshapen(
            format!(
                "`scale_rows` takes a number for each of the {} rows, but here are {}x{} numbers",
                rows.rows, numbers.rows, numbers.cols
            ),
            format!("load them from a Tile<f32, {}, 1>", rows.rows),
        ));
    }
    Ok(Shape { element: ElementType::f32, ..rows })
}

impl<const R: usize, const C: usize> Value<R, C> {
    /// Multiplies each row by its number, each product rounded once: R×C and R×1 to R×C.
    ///
    /// ```
    /// use hpmoe_kernels::Value;
    ///
    /// let rows = Value::<2, 2>::new(2, 2, vec![1.0, 2.0, 3.0, 4.0]);
    /// let numbers = Value::<2, 1>::new(2, 1, vec![2.0, 0.5]);
    /// assert_eq!(rows.scale_rows(&numbers).as_slice(), [2.0, 4.0, 1.5, 2.0]);
    /// ```
    ///
    /// # Panics
    ///
    /// If, at run time, there is not a number for each row.
    #[must_use]
    pub fn scale_rows(&self, numbers: &Value<R, 1>) -> Self {
        assert_eq!(self.rows(), numbers.rows(), "`scale_rows` takes a number for each row");
        let scaled = (0..self.rows()).flat_map(|row| self.row(row).iter().map(move |x| x * numbers.row(row)[0]));
        Self::new(self.rows(), self.cols(), scaled.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::value;
    use super::*;

    #[test]
    fn takes_a_number_for_each_row() {
        assert_eq!(shape(&[value(64, 256), value(64, 1)], None), Ok(value(64, 256)));
        let misfit = shape(&[value(64, 256), value(16, 4)], None).unwrap_err();
        assert_eq!(misfit.problem, "`scale_rows` takes a number for each of the 64 rows, but here are 16x4 numbers");
        assert_eq!(misfit.help, "load them from a Tile<f32, 64, 1>");
    }
}
