//! `codes.look_up(&table)`: replaces codes by their numbers in a table.

use super::rules::{any_numbers, misshapen, mistyped};
use crate::op::{Device, ElementType, Host, Misfit, OperandKind, Operation, Shape, Spelling, TaskKind};
use crate::{Codes, Tile, Value};

/// The operation `look_up`, which replaces codes of four or eight bits by numbers of a table.
pub(super) static OPERATION: Operation = Operation {
    spelling: Spelling::Method("look_up"),
    cores: &[TaskKind::Vector],
    operands: &[OperandKind::Tile, OperandKind::Value],
    takes_element: false,
    numbers: any_numbers,
    shape,
    host: Host::Moves,
    device: Device::LookUp,
};

fn shape(operands: &[Shape], _: Option<ElementType>) -> Result<Shape, Misfit> {
    let (codes, table) = (operands[0], operands[1]);
    let (each, count) = match codes.element {
        ElementType::i8 => (<i8 as Codes>::EACH, <i8 as Codes>::COUNT),
        ElementType::i4x2 => (<crate::i4x2 as Codes>::EACH, <crate::i4x2 as Codes>::COUNT),
        _ => {
            return Err(mistyped(
                format!("`look_up` takes codes of i8 or i4x2, but this is a {codes}"),
                "declare the tile as i8 or i4x2",
            ));
        }
    };
    if (table.rows, table.cols) != (1, count) {
        return Err(misshapen(
            format!(
                "`look_up` takes a table of one row with {count} numbers for codes of {}, but this one is {}x{}",
                codes.element, table.rows, table.cols
            ),
            format!("load it from a Tile<f32, 1, {count}>"),
        ));
    }
    Ok(Shape { kind: OperandKind::Value, element: ElementType::f32, cols: each * codes.cols, ..codes })
}

impl<T: Codes, const R: usize, const C: usize> Tile<'_, T, R, C> {
    /// The number of each code in a one-row table, bit by bit. With `i8`, R×C codes and a table of 256 numbers give
    /// R×C. With `i4x2`, R×C pairs of codes and a table of 16 numbers give R×2C.
    ///
    /// A code is the index of its number in the table, read as unsigned: the byte 0xff is entry 255. A tile of pairs
    /// must have as many columns as its type. If the columns of the result can't be inferred, the call states them:
    /// `codes.look_up::<64, _>(&table)`. Rows of empty slots, for which nothing was sent, give zeros.
    ///
    /// ```
    /// use hpmoe_kernels::{TileBuf, Value, i4x2};
    ///
    /// let squares = Value::<1, 16>::new(1, 16, (0..16).map(|code| (code * code) as f32).collect());
    /// let codes = TileBuf::<i4x2>::from_slice(1, 1, &[i4x2::from_bits(0xf2)]);
    /// assert_eq!(codes.tile::<8, 1>().look_up::<2, _>(&squares).as_slice(), [4.0, 225.0]);
    /// ```
    #[must_use]
    pub fn look_up<const D: usize, const N: usize>(&self, table: &Value<1, N>) -> Value<R, D> {
        const { assert!(D == T::EACH * C, "`look_up::<D, N>`: D must be the number of codes in a row of the tile") };
        const {
            assert!(
                N == T::COUNT,
                "`look_up::<D, N>`: the table must have 256 numbers for codes of i8, 16 for codes of i4x2"
            )
        };
        let cells = (0..self.rows()).flat_map(|row| self.row(row).iter().map(move |cell| (row, cell.get())));
        let codes = cells.flat_map(|(row, codes)| codes.places().map(move |code| (row, code)));
        let number = |(row, code): (usize, usize)| if self.is_empty(row) { 0.0 } else { table.row(0)[code] };
        Value::new(self.rows(), T::EACH * self.width(), codes.map(number).collect()).with_empty(self.empty())
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{tile, value};
    use super::*;

    #[test]
    fn a_table_has_a_number_for_each_code() {
        assert_eq!(shape(&[tile(ElementType::i4x2, 8, 16), value(1, 16)], None), Ok(value(8, 32)));
        assert_eq!(shape(&[tile(ElementType::i8, 8, 16), value(1, 256)], None), Ok(value(8, 16)));
        let misfit = shape(&[tile(ElementType::i8, 8, 16), value(1, 16)], None).unwrap_err();
        assert!(misfit.problem.contains("256 numbers for codes of i8, but this one is 1x16"), "{}", misfit.problem);
        assert!(shape(&[tile(ElementType::i4x2, 8, 16), value(8, 16)], None).is_err());
        assert!(shape(&[tile(ElementType::bf16, 8, 16), value(1, 16)], None).unwrap_err().types);
    }
}
