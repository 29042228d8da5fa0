//! Common code of elementwise operations.

use super::rules::{any_numbers, misshapen};
use crate::op::{Device, ElementType, Host, Misfit, OperandKind, Operation, Shape, Spelling, TaskKind};

/// The description of an operation on one value and any numbers that gives a value of the same size. Other operations
/// are based on it.
pub(super) const ONE_VALUE: Operation = Operation {
    spelling: Spelling::Method(""),
    cores: &[TaskKind::Vector],
    operands: &[OperandKind::Value],
    takes_element: false,
    numbers: any_numbers,
    shape: like_the_value,
    host: Host::Moves,
    device: Device::Vector { scratch: &[], calls: &[] },
};

fn like_the_value(operands: &[Shape], _: Option<ElementType>) -> Result<Shape, Misfit> {
    Ok(Shape { element: ElementType::f32, ..operands[0] })
}

/// The shape of the left of two values, after a check that the right one has the same size, or is one row or one column
/// that is broadcast. `does` says what the operation does, as in "`*` multiplies".
pub(super) fn one_size(does: &str, operands: &[Shape]) -> Result<Shape, Misfit> {
    let (left, right) = (operands[0], operands[1]);
    if right.spreads_over(&left) {
        return Ok(Shape { element: ElementType::f32, ..left });
    }
    Err(misshapen(
        format!(
            "{does} values of the same size, or one row or column on the right, but the left one is {}x{} and the right one {}x{}",
            left.rows, left.cols, right.rows, right.cols
        ),
        if left.spreads_over(&right) {
            "write the larger one on the left, or `a.broadcast::<ROWS, COLS>()` with the size of the right one"
        } else {
            "load both from tiles of the same size, or the right one from a tile of one row or one column"
        },
    ))
}

/// The shape of half of a value's columns, after a check that their number is even.
pub(super) fn half_of_columns(name: &str, operands: &[Shape]) -> Result<Shape, Misfit> {
    let pairs = operands[0];
    if pairs.cols % 2 != 0 {
        return Err(misshapen(
            format!("`{name}` needs an even number of columns, but is given {}", pairs.cols),
            "load from a tile with an even number of columns",
        ));
    }
    Ok(Shape { element: ElementType::f32, cols: pairs.cols / 2, ..pairs })
}

/// Implements a Rust operator for two values, and for a value and a number on either side. Operands are taken by value
/// or by reference, and the right value may be a row or a column. It also implements the assigning operator:
/// `sum += next` is `sum = &sum + next`.
macro_rules! operator {
    ($(#[$about:meta])* $trait:ident, $method:ident, $assign:ident, $assigned:ident, $sign:literal, $apply:expr) => {
        $(#[$about])*
        impl<const R: usize, const C: usize, const R2: usize, const C2: usize> std::ops::$trait<&crate::Value<R2, C2>> for &crate::Value<R, C> {
            type Output = crate::Value<R, C>;

            fn $method(self, right: &crate::Value<R2, C2>) -> crate::Value<R, C> {
                self.zip(right, $sign, $apply)
            }
        }

        impl<const R: usize, const C: usize, const R2: usize, const C2: usize> std::ops::$trait<crate::Value<R2, C2>> for crate::Value<R, C> {
            type Output = crate::Value<R, C>;

            fn $method(self, right: crate::Value<R2, C2>) -> crate::Value<R, C> {
                self.zip(&right, $sign, $apply)
            }
        }

        impl<const R: usize, const C: usize, const R2: usize, const C2: usize> std::ops::$trait<&crate::Value<R2, C2>> for crate::Value<R, C> {
            type Output = crate::Value<R, C>;

            fn $method(self, right: &crate::Value<R2, C2>) -> crate::Value<R, C> {
                self.zip(right, $sign, $apply)
            }
        }

        impl<const R: usize, const C: usize, const R2: usize, const C2: usize> std::ops::$trait<crate::Value<R2, C2>> for &crate::Value<R, C> {
            type Output = crate::Value<R, C>;

            fn $method(self, right: crate::Value<R2, C2>) -> crate::Value<R, C> {
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

        impl<Right, const R: usize, const C: usize> std::ops::$assign<Right> for crate::Value<R, C>
        where
            for<'a> &'a Self: std::ops::$trait<Right, Output = Self>,
        {
            fn $assigned(&mut self, right: Right) {
                *self = std::ops::$trait::$method(&*self, right);
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
    fn columns_come_in_pairs() {
        assert_eq!(half_of_columns("odd_columns", &[value(8, 18)]), Ok(value(8, 9)));
        let misfit = half_of_columns("odd_columns", &[value(8, 15)]).unwrap_err();
        assert_eq!(misfit.problem, "`odd_columns` needs an even number of columns, but is given 15");
    }

    #[test]
    fn the_right_value_may_be_one_row_or_one_column() {
        let left = value(8, 16);
        for right in [left, value(1, 16), value(8, 1), value(1, 1)] {
            assert_eq!(one_size("`*` multiplies", &[left, right]), Ok(left));
        }
        let misfit = one_size("`*` multiplies", &[left, value(4, 16)]).unwrap_err();
        assert_eq!(
            misfit.problem,
            "`*` multiplies values of the same size, or one row or column on the right, but the left one is 8x16 and the right one \
             4x16"
        );
        assert!(misfit.help.starts_with("load both from tiles of the same size"), "{}", misfit.help);
    }

    #[test]
    fn the_larger_value_is_on_the_left() {
        let misfit = one_size("`-` subtracts", &[value(1, 16), value(8, 16)]).unwrap_err();
        assert!(misfit.help.contains("a.broadcast::<ROWS, COLS>()"), "{}", misfit.help);
        assert!(one_size("`-` subtracts", &[value(1, 16), value(8, 1)]).is_err());
    }
}
