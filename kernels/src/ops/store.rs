//! `tile.store(value)`: rounds a value once and writes it to a tile.

use super::rules::{any_numbers, misshapen, mistyped};
use crate::op::{Device, ElementType, Host, Misfit, OperandKind, Operation, Shape, Spelling, TaskKind};
use crate::{Integers, Stored, Tile, Value};

/// The operation `store`, which writes a value to a tile.
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
    if tile.element == ElementType::i4x2 {
        return Err(mistyped(
            format!("tiles of 4-bit numbers can only be read, but this is a {tile}"),
            "declare the tile as i8",
        ));
    }
    if value.element == ElementType::i32 && tile.element != ElementType::i32 {
        return Err(mistyped(
            format!("a product of i8 tiles is stored as i32, but this is a {tile}"),
            "declare the tile as i32, and scale its numbers in an #[aiv_task]",
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
    /// Writes a value, rounding each number to `T` (to nearest, ties to even). In bf16 and f16, numbers that are too
    /// large become infinite. A value that was cast to `T` before is written unchanged.
    ///
    /// In a tile of i32 or i8, which vector cores write, numbers beyond the type's range become the nearest number of the
    /// type, and NaN must not occur. A matrix core stores the exact product of i8 tiles in a tile of i32.
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
    pub fn store(&mut self, value: impl Storable<T, R, C>) {
        value.store_in(self);
    }
}

/// The results that can be stored in a tile of `T`: a value or, if `T` is i32, the product of i8 tiles.
pub trait Storable<T, const R: usize, const C: usize> {
    /// Rounds `self` to the tile's type, and writes the whole tile. Panics if the sizes of `self` and the tile differ.
    fn store_in(&self, tile: &Tile<'_, T, R, C>);
}

impl<T: Stored, const R: usize, const C: usize> Storable<T, R, C> for Value<R, C> {
    fn store_in(&self, tile: &Tile<'_, T, R, C>) {
        let [one_row, one_col] = self.open();
        assert!(
            (one_row || tile.rows() == self.rows()) && (one_col || tile.width() == self.cols()),
            "`store` needs a tile of the value's size (rows, columns), but they are {:?} and {:?}",
            (tile.rows(), tile.width()),
            (self.rows(), self.cols())
        );
        for row in 0..tile.rows() {
            let numbers = self.row(if one_row { 0 } else { row });
            for (column, cell) in tile.row(row).iter().enumerate() {
                cell.set(T::from_f32(numbers[if one_col { 0 } else { column }]));
            }
        }
    }
}

impl<const R: usize, const C: usize> Storable<i32, R, C> for Integers<R, C> {
    fn store_in(&self, tile: &Tile<'_, i32, R, C>) {
        assert_eq!(
            (tile.rows(), tile.width()),
            (self.rows(), self.cols()),
            "`store` needs a tile of the product's size (rows, columns)"
        );
        for (row, numbers) in self.as_slice().chunks_exact(self.cols()).enumerate() {
            for (cell, number) in tile.row(row).iter().zip(numbers) {
                cell.set(*number);
            }
        }
    }
}

impl<T, V: Storable<T, R, C>, const R: usize, const C: usize> Storable<T, R, C> for &V {
    fn store_in(&self, tile: &Tile<'_, T, R, C>) {
        V::store_in(self, tile);
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
        assert!(shape(&[tile(ElementType::i8, 128, 8), value(128, 8)], None).is_ok());
        let integers = Shape { element: ElementType::i32, ..value(128, 8) };
        assert!(shape(&[tile(ElementType::i32, 128, 8), integers], None).is_ok());
        assert!(shape(&[tile(ElementType::f32, 128, 8), integers], None).unwrap_err().types);
    }
}
