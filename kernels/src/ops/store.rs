//! `tile.store(value)`: a value into a tile, rounded once.

use std::borrow::Borrow;

use super::{any_numbers, misshapen, mistyped};
use crate::op::{Device, ElementType, Host, Misfit, OperandKind, Operation, Shape, Spelling, TaskKind};
use crate::{Stored, Tile, Value};

/// Writes a tile.
pub(super) static OPERATION: Operation = Operation {
    spelling: Spelling::Method("store"),
    cores: &[TaskKind::Vector, TaskKind::Matrix],
    operands: &[OperandKind::Tile, OperandKind::Value],
    takes_element: false,
    numbers: any_numbers,
    shape,
    host: Host::Moves,
    device: Device::Store,
};

fn shape(operands: &[Shape], _: Option<ElementType>) -> Result<Shape, Misfit> {
    let (tile, value) = (operands[0], operands[1]);
    if tile.element == ElementType::i8 {
        return Err(mistyped(
            format!("`store` works on bf16, f32 and i32, but this is a {tile}"),
            "declare the tile as bf16, f32 or i32",
        ));
    }
    if (tile.rows, tile.cols) != (value.rows, value.cols) {
        return Err(misshapen(
            format!(
                "a value of {}x{} can't be stored in a tile of {}x{}",
                value.rows, value.cols, tile.rows, tile.cols
            ),
            format!("declare the tile as Tile<{}, {}, {}>", tile.element, value.rows, value.cols),
        ));
    }
    Ok(tile)
}

impl<T: Stored, const R: usize, const C: usize> Tile<'_, T, R, C> {
    /// Writes a value, each number rounded to `T`: to nearest, ties to even. A value cast to `T` before is written as
    /// it is. In a tile of i32, which only vector cores write, numbers are whole, as ids are: what is larger than all of them becomes the
    /// largest, and NaN is not for it.
    ///
    /// ```
    /// use hpmoe_kernels::{TileBuf, Value, bf16};
    ///
    /// let y = TileBuf::<bf16>::from_f32(1, 2, &[0.0, 0.0]);
    /// y.tile::<8, 16>().store(Value::new(1, 2, vec![1.0, 1.001]));
    /// assert_eq!(y.to_f32(), [1.0, 1.0]);
    /// ```
    ///
    /// # Panics
    ///
    /// If the sizes of tile and value differ at run time.
    pub fn store(&mut self, value: impl Borrow<Value<R, C>>) {
        let value = value.borrow();
        let [one_row, one_col] = value.open();
        assert!(
            (one_row || self.rows() == value.rows()) && (one_col || self.width() == value.cols()),
            "`store` needs a tile of the size of the value, rows and columns are {:?} and {:?}",
            (self.rows(), self.width()),
            (value.rows(), value.cols())
        );
        for row in 0..self.rows() {
            let numbers = value.row(if one_row { 0 } else { row });
            for (column, cell) in self.row(row).iter().enumerate() {
                cell.set(T::from_f32(numbers[if one_col { 0 } else { column }]));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{tile, value};
    use super::*;

    #[test]
    fn names_both_sizes_and_the_tile_that_would_fit() {
        let y = tile(ElementType::bf16, 128, 128);
        assert_eq!(shape(&[y, value(128, 128)], None), Ok(y));
        let misfit = shape(&[y, value(128, 256)], None).unwrap_err();
        assert!(!misfit.types);
        assert_eq!(misfit.problem, "a value of 128x256 can't be stored in a tile of 128x128");
        assert_eq!(misfit.help, "declare the tile as Tile<bf16, 128, 256>");
        assert!(shape(&[tile(ElementType::i32, 128, 8), value(128, 8)], None).is_ok());
        assert!(shape(&[tile(ElementType::i8, 128, 8), value(128, 8)], None).unwrap_err().types);
    }
}
