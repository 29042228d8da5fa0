//! `tile.accumulate(value)`: adds a value to a tile's contents.

use super::rules::{any_numbers, misshapen, mistyped};
use crate::op::{Device, ElementType, Host, Misfit, OperandKind, Operation, Shape, Spelling, TaskKind};
use crate::{Tile, Value};

/// The operation `accumulate`, which adds a value to a tile.
pub(super) static OPERATION: Operation = Operation {
    spelling: Spelling::Method("accumulate"),
    cores: &[TaskKind::Matrix],
    operands: &[OperandKind::Tile, OperandKind::Value],
    takes_element: false,
    numbers: any_numbers,
    shape,
    host: Host::Moves,
    device: Device::Accumulate,
};

fn shape(operands: &[Shape], _: Option<ElementType>) -> Result<Shape, Misfit> {
    let (tile, value) = (operands[0], operands[1]);
    if tile.element != ElementType::f32 {
        return Err(mistyped(
            format!(
                "`accumulate` needs a tile of f32, but this is a {tile}: in a narrower type, each addition would round the sum"
            ),
            "declare the tile and its tensor as f32",
        ));
    }
    if value.element == ElementType::i32 {
        return Err(mistyped(
            "`accumulate` adds f32 values, but this is a product of i8 tiles".into(),
            "store the product in a tile of i32",
        ));
    }
    if (tile.rows, tile.cols) != (value.rows, value.cols) {
        return Err(misshapen(
            format!("a value of {}x{} can't be added to a tile of {}x{}", value.rows, value.cols, tile.rows, tile.cols),
            format!("declare the tile as Tile<f32, {}, {}>", value.rows, value.cols),
        ));
    }
    Ok(tile)
}

impl<const R: usize, const C: usize> Tile<'_, f32, R, C> {
    /// Adds a value to the tile's contents, rounding each sum once. The caller sets the first contents before the launch.
    ///
    /// ```
    /// use hpmoe_kernels::{TileBuf, Value};
    ///
    /// let y = TileBuf::<f32>::from_f32(1, 2, &[1.0, 2.0]);
    /// y.tile::<8, 16>().accumulate(Value::new(1, 2, vec![0.5, 0.25]));
    /// assert_eq!(y.to_f32(), [1.5, 2.25]);
    /// ```
    ///
    /// # Panics
    ///
    /// If the sizes of tile and value differ at run time.
    pub fn accumulate(&mut self, value: Value<R, C>) {
        assert_eq!(
            (self.rows(), self.width()),
            (value.rows(), value.cols()),
            "`accumulate` needs a tile of the value's size (rows, columns)"
        );
        for row in 0..self.rows() {
            for (cell, number) in self.row(row).iter().zip(value.row(row)) {
                cell.set(cell.get() + number);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{tile, value};
    use super::*;

    #[test]
    fn adds_to_f32_of_its_size() {
        let sums = tile(ElementType::f32, 128, 256);
        assert_eq!(shape(&[sums, value(128, 256)], None), Ok(sums));
        assert!(shape(&[tile(ElementType::bf16, 128, 256), value(128, 256)], None).unwrap_err().types);
        assert_eq!(
            shape(&[sums, value(128, 128)], None).unwrap_err().problem,
            "a value of 128x128 can't be added to a tile of 128x256"
        );
    }
}
