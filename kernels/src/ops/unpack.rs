//! `tile.unpack()`: unpacks a tile with two numbers per byte into a value.

use super::rules::{any_numbers, mistyped};
use crate::op::{Device, ElementType, Host, Misfit, OperandKind, Operation, Shape, Spelling, TaskKind};
use crate::{Tile, Value, i4x2};

/// The operation `unpack`, which reads a tile of 4-bit numbers.
pub(super) static OPERATION: Operation = Operation {
    spelling: Spelling::Method("unpack"),
    cores: &[TaskKind::Vector],
    operands: &[OperandKind::Tile],
    takes_element: false,
    numbers: any_numbers,
    shape,
    host: Host::Moves,
    device: Device::Unpack,
};

fn shape(operands: &[Shape], _: Option<ElementType>) -> Result<Shape, Misfit> {
    let pairs = operands[0];
    if pairs.element != ElementType::i4x2 {
        return Err(mistyped(
            format!("`unpack` takes numbers of four bits, but this is a {pairs}"),
            "write `.load()`, or declare the tile as i4x2",
        ));
    }
    Ok(Shape { kind: OperandKind::Value, element: ElementType::f32, cols: 2 * pairs.cols, ..pairs })
}

impl<const R: usize, const C: usize> Tile<'_, i4x2, R, C> {
    /// The numbers as a value, exact: R×C pairs to R×2C, each number from -8 to 7. The tile must have as many columns
    /// as its type. If 2C can't be inferred, the call states it: `packed.unpack::<64>()`. Rows of empty slots, for which
    /// nothing was sent, give zeros.
    ///
    /// ```
    /// use hpmoe_kernels::{TileBuf, i4x2};
    ///
    /// let packed = TileBuf::<i4x2>::from_slice(1, 2, &i4x2::pack(&[1, -2, 7, -8]));
    /// assert_eq!(packed.tile::<8, 2>().unpack::<4>().as_slice(), [1.0, -2.0, 7.0, -8.0]);
    /// ```
    #[must_use]
    pub fn unpack<const D: usize>(&self) -> Value<R, D> {
        const { assert!(D == 2 * C, "`unpack::<D>`: D must be twice the columns of the tile") };
        let numbers = |pair: i4x2| pair.numbers().map(f32::from);
        let row = |row: usize| self.row(row).iter().map(move |cell| (row, cell.get()));
        let unpacked = |(row, pair)| if self.is_empty(row) { [0.0; 2] } else { numbers(pair) };
        let all = (0..self.rows()).flat_map(row).flat_map(unpacked).collect();
        Value::new(self.rows(), 2 * self.width(), all).with_empty(self.empty())
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{tile, value};
    use super::*;

    #[test]
    fn a_byte_is_two_columns() {
        assert_eq!(shape(&[tile(ElementType::i4x2, 8, 16)], None), Ok(value(8, 32)));
        let misfit = shape(&[tile(ElementType::i8, 8, 16)], None).unwrap_err();
        assert!(misfit.types && misfit.problem.ends_with("but this is a Tile<i8, 8, 16>"), "{}", misfit.problem);
    }
}
