//! What operations have in common that work number by number.

use super::{any_numbers, misshapen, on_chip};
use crate::op::{Core, Device, ElementType, Misfit, Operation, Place, Shape, Spelling, Work};

/// One value and any numbers to a value of its size, in one call: the base of others.
pub(super) const ONE_VALUE: Operation = Operation {
    spelling: Spelling::Method(""),
    cores: &[Core::Vector],
    operands: &[Place::Value],
    takes_element: false,
    numbers: any_numbers,
    shape: like_the_value,
    device: Device::Vector { scratch: 0, calls: &[] },
    work: passes::<1>,
};

fn like_the_value(operands: &[Shape], _: Option<ElementType>) -> Result<Shape, Misfit> {
    Ok(Shape { element: ElementType::f32, ..operands[0] })
}

/// The vector unit passes so many times over the result.
pub(super) fn passes<const N: u64>(_: &[Shape], result: &Shape) -> Work {
    Work { vector_bytes: N * on_chip(result), ..Work::default() }
}

/// Two values of one size. `does` is what the operation does, as in "`*` multiplies".
pub(super) fn one_size(does: &str, operands: &[Shape]) -> Result<Shape, Misfit> {
    let (left, right) = (operands[0], operands[1]);
    if (left.rows, left.cols) != (right.rows, right.cols) {
        return Err(misshapen(
            format!(
                "{does} values of one size, but the left one is {}x{} and the right one {}x{}",
                left.rows, left.cols, right.rows, right.cols
            ),
            "load both from tiles of one size",
        ));
    }
    Ok(Shape { element: ElementType::f32, ..left })
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
    fn two_values_need_one_size() {
        assert_eq!(one_size("`*` multiplies", &[value(8, 16), value(8, 16)]), Ok(value(8, 16)));
        assert_eq!(
            one_size("`*` multiplies", &[value(8, 16), value(4, 16)]).unwrap_err().problem,
            "`*` multiplies values of one size, but the left one is 8x16 and the right one 4x16"
        );
    }
}
