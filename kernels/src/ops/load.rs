//! `tile.load()`: a tile's elements as a value, widened to f32.

use super::{any_numbers, mistyped};
use crate::op::{Device, ElementType, Host, Misfit, OperandKind, Operation, Shape, Spelling, TaskKind};
use crate::{Number, Tile, Value};

/// Reads a tile.
pub(super) static OPERATION: Operation = Operation {
    spelling: Spelling::Method("load"),
    cores: &[TaskKind::Vector],
    operands: &[OperandKind::Tile],
    takes_element: false,
    numbers: any_numbers,
    shape,
    host: Host::Moves,
    device: Device::Load,
};

fn shape(operands: &[Shape], _: Option<ElementType>) -> Result<Shape, Misfit> {
    let tile = operands[0];
    if tile.element == ElementType::i32 {
        return Err(mistyped(
            format!("`load` works on bf16, f32 and i8, whose numbers are all f32, but this is a {tile}"),
            "declare the tile as bf16, f32 or i8",
        ));
    }
    Ok(Shape { kind: OperandKind::Value, element: ElementType::f32, ..tile })
}

impl<T: Number, const R: usize, const C: usize> Tile<'_, T, R, C> {
    /// The elements as a value: R×C of bf16, f32 or i8 to R×C of f32, exactly.
    ///
    /// ```
    /// use hpmoe_kernels::{TileBuf, bf16};
    ///
    /// let x = TileBuf::<bf16>::from_f32(2, 2, &[1.0, 2.0, 3.0, 4.0]);
    /// let value = x.tile::<8, 16>().load();
    /// assert_eq!((value.rows(), value.cols()), (2, 2));
    /// assert_eq!(value.as_slice(), [1.0, 2.0, 3.0, 4.0]);
    /// ```
    #[must_use]
    pub fn load(&self) -> Value<R, C> {
        Value::new(self.rows(), self.width(), self.to_vec().into_iter().map(T::to_f32).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{tile, value};
    use super::*;

    #[test]
    fn widens_what_is_exact_and_refuses_the_rest() {
        assert_eq!(shape(&[tile(ElementType::i8, 8, 16)], None), Ok(value(8, 16)));
        assert_eq!(shape(&[tile(ElementType::bf16, 8, 16)], None), Ok(value(8, 16)));
        let misfit = shape(&[tile(ElementType::i32, 8, 16)], None).unwrap_err();
        assert!(misfit.types);
        assert_eq!(
            misfit.problem,
            "`load` works on bf16, f32 and i8, whose numbers are all f32, but this is a Tile<i32, 8, 16>"
        );
    }
}
