//! What elementwise operations have in common.

use super::{any_numbers, misshapen};
use crate::op::{Device, ElementType, Host, Misfit, OperandKind, Operation, Shape, Spelling, TaskKind};

/// An operation on one value and any numbers that makes a value of the same size: the base of other operations.
pub(super) const ONE_VALUE: Operation = Operation {
    spelling: Spelling::Method(""),
    cores: &[TaskKind::Vector],
    operands: &[OperandKind::Value],
    takes_element: false,
    numbers: any_numbers,
    shape: like_the_value,
    host: Host::Moves,
    device: Device::Vector { scratch: 0, calls: &[] },
};

fn like_the_value(operands: &[Shape], _: Option<ElementType>) -> Result<Shape, Misfit> {
    Ok(Shape { element: ElementType::f32, ..operands[0] })
}

/// The shape of two values of one size. `does` is what the operation does, as in "`*` multiplies".
pub(super) fn one_size(does: &str, operands: &[Shape]) -> Result<Shape, Misfit> {
    let (left, right) = (operands[0], operands[1]);
    if (left.rows, left.cols) != (right.rows, right.cols) {
        return Err(misshapen(
            format!(
                "{does} values of one size, but the left one is {}x{} and the right one {}x{}",
                left.rows, left.cols, right.rows, right.cols
            ),
            if left.cols == right.cols && right.rows == 1 {
                "write `.add_row(&row)` or `.scale_cols(&row)` for one row with all rows"
            } else if left.rows == right.rows && right.cols == 1 {
                "write `.scale_rows(&numbers)` for a number with each row"
            } else {
                "load both from tiles of one size"
            },
        ));
    }
    Ok(Shape { element: ElementType::f32, ..left })
}

/// The shape of R×C values combined with one 1×C row: R×C.
pub(super) fn row_for_all(name: &str, operands: &[Shape]) -> Result<Shape, Misfit> {
    let (rows, row) = (operands[0], operands[1]);
    if (row.rows, row.cols) != (1, rows.cols) {
        return Err(misshapen(
            format!(
                "`{name}` takes one row with a number for each of the {} columns, but here are {}x{} numbers",
                rows.cols, row.rows, row.cols
            ),
            format!("load it from a Tile<f32, 1, {0}> or Tile<bf16, 1, {0}>", rows.cols),
        ));
    }
    Ok(Shape { element: ElementType::f32, ..rows })
}

/// The shape of half of the columns of a value, of which there must be an even number.
pub(super) fn half_of_columns(name: &str, operands: &[Shape]) -> Result<Shape, Misfit> {
    let pairs = operands[0];
    if !pairs.cols.is_multiple_of(2) {
        return Err(misshapen(
            format!("`{name}` takes columns in pairs, but here are {}", pairs.cols),
            "load from a tile with an even number of columns",
        ));
    }
    Ok(Shape { element: ElementType::f32, cols: pairs.cols / 2, ..pairs })
}

/// The operator of Rust for two values, and for a value and a number on either side, taken as they are or by reference.
macro_rules! operator {
    ($(#[$about:meta])* $trait:ident, $method:ident, $sign:literal, $apply:expr) => {
        $(#[$about])*
        impl<const R: usize, const C: usize> std::ops::$trait<&crate::Value<R, C>> for &crate::Value<R, C> {
            type Output = crate::Value<R, C>;

            fn $method(self, right: &crate::Value<R, C>) -> crate::Value<R, C> {
                self.zip(right, $sign, $apply)
            }
        }

        impl<const R: usize, const C: usize> std::ops::$trait for crate::Value<R, C> {
            type Output = Self;

            fn $method(self, right: Self) -> Self {
                self.zip(&right, $sign, $apply)
            }
        }

        impl<const R: usize, const C: usize> std::ops::$trait<&Self> for crate::Value<R, C> {
            type Output = Self;

            fn $method(self, right: &Self) -> Self {
                self.zip(right, $sign, $apply)
            }
        }

        impl<const R: usize, const C: usize> std::ops::$trait<crate::Value<R, C>> for &crate::Value<R, C> {
            type Output = crate::Value<R, C>;

            fn $method(self, right: crate::Value<R, C>) -> crate::Value<R, C> {
                self.zip(&right, $sign, $apply)
            }
        }

        impl<const R: usize, const C: usize> std::ops::$trait<f32> for crate::Value<R, C> {
            type Output = Self;

            fn $method(self, right: f32) -> Self {
                self.map(|x| $apply(x, right))
            }
        }

        impl<const R: usize, const C: usize> std::ops::$trait<f32> for &crate::Value<R, C> {
            type Output = crate::Value<R, C>;

            fn $method(self, right: f32) -> crate::Value<R, C> {
                self.map(|x| $apply(x, right))
            }
        }

        impl<const R: usize, const C: usize> std::ops::$trait<crate::Value<R, C>> for f32 {
            type Output = crate::Value<R, C>;

            fn $method(self, right: crate::Value<R, C>) -> crate::Value<R, C> {
                right.map(|x| $apply(self, x))
            }
        }

        impl<const R: usize, const C: usize> std::ops::$trait<&crate::Value<R, C>> for f32 {
            type Output = crate::Value<R, C>;

            fn $method(self, right: &crate::Value<R, C>) -> crate::Value<R, C> {
                right.map(|x| $apply(self, x))
            }
        }
    };
}
pub(super) use operator;

#[cfg(test)]
mod tests {
    use super::super::tests::value;
    use super::*;

    #[test]
    fn one_row_has_the_columns_of_all() {
        assert_eq!(row_for_all("add_row", &[value(8, 16), value(1, 16)]), Ok(value(8, 16)));
        let misfit = row_for_all("add_row", &[value(8, 16), value(8, 1)]).unwrap_err();
        assert_eq!(
            misfit.problem,
            "`add_row` takes one row with a number for each of the 16 columns, but here are 8x1 numbers"
        );
        assert_eq!(misfit.help, "load it from a Tile<f32, 1, 16> or Tile<bf16, 1, 16>");
    }

    #[test]
    fn columns_come_in_pairs() {
        assert_eq!(half_of_columns("odd_columns", &[value(8, 18)]), Ok(value(8, 9)));
        let misfit = half_of_columns("odd_columns", &[value(8, 15)]).unwrap_err();
        assert_eq!(misfit.problem, "`odd_columns` takes columns in pairs, but here are 15");
    }

    #[test]
    fn a_value_that_is_one_row_or_column_has_operations_of_its_own() {
        let help = |right| one_size("`+` adds", &[value(8, 16), right]).unwrap_err().help;
        assert!(help(value(1, 16)).contains("add_row"));
        assert!(help(value(8, 1)).contains("scale_rows"));
        assert_eq!(help(value(4, 16)), "load both from tiles of one size");
    }

    #[test]
    fn two_values_need_one_size() {
        assert_eq!(one_size("`*` multiplies", &[value(8, 16), value(8, 16)]), Ok(value(8, 16)));
        assert_eq!(
            one_size("`*` multiplies", &[value(8, 16), value(4, 16)]).unwrap_err().problem,
            "`*` multiplies values of one size, but the left one is 8x16 and the right one 4x16"
        );
    }
}
