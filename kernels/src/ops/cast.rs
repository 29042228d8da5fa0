//! `value.cast::<T>()`: rounds a value to a type in the middle of a computation.

use super::rules::{any_numbers, mistyped};
use crate::op::{Device, ElementType, Host, Misfit, OperandKind, Operation, Shape, Spelling, TaskKind};
use crate::{Float, Value, bf16, f16};

/// The operation `cast`, which rounds a value.
pub(super) static OPERATION: Operation = Operation {
    spelling: Spelling::Method("cast"),
    cores: &[TaskKind::Vector],
    operands: &[OperandKind::Value],
    takes_element: true,
    numbers: any_numbers,
    shape,
    host: Host::values(|given| match given.element {
        Some(ElementType::bf16) => given[0].cast::<bf16>(),
        Some(ElementType::f16) => given[0].cast::<f16>(),
        _ => given[0].cast::<f32>(),
    }),
    device: Device::Cast,
};

fn shape(operands: &[Shape], element: Option<ElementType>) -> Result<Shape, Misfit> {
    let help = "write `.cast::<bf16>()`, `.cast::<f16>()` or `.cast::<f32>()`";
    match element {
        Some(element @ (ElementType::bf16 | ElementType::f16 | ElementType::f32)) => {
            Ok(Shape { element, ..operands[0] })
        }
        Some(element @ (ElementType::i32 | ElementType::i8 | ElementType::i4x2)) => {
            Err(mistyped(format!("a value can't be cast to {element}"), help))
        }
        None => Err(mistyped("`cast` needs the type to round to".to_owned(), help)),
    }
}

impl<const R: usize, const C: usize> Value<R, C> {
    /// Rounds each number to `T` (to nearest, ties to even) and keeps the result as f32: R×C to R×C.
    ///
    /// ```
    /// use hpmoe_kernels::{Value, bf16, f16};
    ///
    /// let value = Value::<1, 2>::new(1, 2, vec![1.001, 1.01]);
    /// assert_eq!(value.cast::<bf16>().as_slice(), [1.0, 1.0078125]);
    /// assert_eq!(value.cast::<f16>().as_slice(), [1.0009766, 1.0097656]);
    /// ```
    #[must_use]
    pub fn cast<T: Float>(&self) -> Self {
        self.map(|x| T::from_f32(x).to_f32())
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::value;
    use super::*;

    #[test]
    fn result_has_the_type_asked_for() {
        let x = value(8, 16);
        for element in [ElementType::bf16, ElementType::f16] {
            assert_eq!(shape(&[x], Some(element)), Ok(Shape { element, ..x }));
        }
        assert_eq!(shape(&[x], Some(ElementType::i32)).unwrap_err().problem, "a value can't be cast to i32");
        assert_eq!(shape(&[x], None).unwrap_err().problem, "`cast` needs the type to round to");
    }
}
