//! `a * b`: two values, element by element.

use std::ops::Mul;

use super::{misshapen, on_chip};
use crate::Value;
use crate::op::{Core, Device, ElementType, Misfit, Operation, Place, Shape, Slot, Spelling, VectorCall, Work};

/// Multiplies two values.
pub(super) static OPERATION: Operation = Operation {
    spelling: Spelling::Operator('*'),
    cores: &[Core::Vector],
    operands: &[Place::Value, Place::Value],
    takes_element: false,
    shape,
    device: Device::Vector { scratch: 0, calls: &[VectorCall::Binary("Mul", Slot::Out, Slot::In(0), Slot::In(1))] },
    work,
};

fn shape(operands: &[Shape], _: Option<ElementType>) -> Result<Shape, Misfit> {
    let (left, right) = (operands[0], operands[1]);
    if (left.rows, left.cols) != (right.rows, right.cols) {
        return Err(misshapen(
            format!(
                "`*` multiplies values of one size, but the left one is {}x{} and the right one {}x{}",
                left.rows, left.cols, right.rows, right.cols
            ),
            "load both from tiles of one size",
        ));
    }
    Ok(Shape { element: ElementType::f32, ..left })
}

fn work(_: &[Shape], result: &Shape) -> Work {
    Work { vector_bytes: on_chip(result), ..Work::default() }
}

/// Element by element, each product rounded once: R×C and R×C to R×C.
///
/// ```
/// use hpmoe_kernels::Value;
///
/// let a = Value::<1, 2>::new(1, 2, vec![2.0, 3.0]);
/// let square = &a * &a;
/// assert_eq!((square * a).as_slice(), [8.0, 27.0]);
/// ```
impl<const R: usize, const C: usize> Mul<&Value<R, C>> for Value<R, C> {
    type Output = Self;

    fn mul(self, right: &Self) -> Self {
        self.zip(right, "*", |a, b| a * b)
    }
}

impl<const R: usize, const C: usize> Mul for Value<R, C> {
    type Output = Self;

    fn mul(self, right: Self) -> Self {
        self * &right
    }
}

impl<const R: usize, const C: usize> Mul for &Value<R, C> {
    type Output = Value<R, C>;

    fn mul(self, right: Self) -> Value<R, C> {
        self.clone() * right
    }
}

impl<const R: usize, const C: usize> Mul<Value<R, C>> for &Value<R, C> {
    type Output = Value<R, C>;

    fn mul(self, right: Value<R, C>) -> Value<R, C> {
        self.clone() * &right
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::value;
    use super::*;

    #[test]
    fn needs_one_size() {
        assert_eq!(shape(&[value(8, 16), value(8, 16)], None), Ok(value(8, 16)));
        assert_eq!(
            shape(&[value(8, 16), value(4, 16)], None).unwrap_err().problem,
            "`*` multiplies values of one size, but the left one is 8x16 and the right one 4x16"
        );
    }
}
