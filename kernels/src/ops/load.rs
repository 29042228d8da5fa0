//! `tile.load()`: a tile's elements as a value, widened to f32.

use super::rules::{any_numbers, mistyped};
use crate::op::{Device, ElementType, Host, Misfit, OperandKind, Operation, Shape, Spelling, TaskKind};
use crate::{Number, Tile, Value};

/// The operation `load`, which reads a tile.
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
    if tile.element == ElementType::i4x2 {
        return Err(mistyped(
            format!("`load` needs one number per element, but this is a {tile}"),
            "write `.unpack()`, a value with twice as many columns, or `.look_up(&table)`",
        ));
    }
    Ok(Shape { kind: OperandKind::Value, element: ElementType::f32, ..tile })
}

impl<T: Number, const R: usize, const C: usize> Tile<'_, T, R, C> {
    /// The elements as a value: R×C of bf16, f16, f32, i32 or i8 to R×C of f32. The conversion is exact, except that
    /// i32 numbers beyond ±2^24 are rounded to nearest, ties to even. Rows of empty slots, for which nothing was sent,
    /// load as zeros.
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
        let number = |(row, cell): (usize, T)| if self.is_empty(row) { 0.0 } else { cell.to_f32() };
        let rows = (0..self.rows()).flat_map(|row| self.row(row).iter().map(move |cell| (row, cell.get())));
        Value::new(self.rows(), self.width(), rows.map(number).collect()).with_empty(self.empty())
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{tile, value};
    use super::*;

    #[test]
    fn widens_every_type() {
        assert_eq!(shape(&[tile(ElementType::i8, 8, 16)], None), Ok(value(8, 16)));
        assert_eq!(shape(&[tile(ElementType::bf16, 8, 16)], None), Ok(value(8, 16)));
        assert_eq!(shape(&[tile(ElementType::f16, 8, 16)], None), Ok(value(8, 16)));
        assert_eq!(shape(&[tile(ElementType::i32, 8, 16)], None), Ok(value(8, 16)));
        assert!(shape(&[tile(ElementType::i4x2, 8, 16)], None).unwrap_err().help.contains("unpack"));
    }
}
