//! `dst.put(&src)`: a copy of rows, possibly to another rank.

use super::rules::{any_numbers, misshapen, mistyped};
use crate::op::{Device, ElementType, Host, Misfit, OperandKind, Operation, Shape, Spelling, TaskKind};
use crate::{Element, Tile};

/// The operation `put`, which copies a tile to one that may be on another rank.
pub(super) static OPERATION: Operation = Operation {
    spelling: Spelling::Method("put"),
    cores: &[TaskKind::Put],
    operands: &[OperandKind::Tile, OperandKind::Tile],
    takes_element: false,
    numbers: any_numbers,
    shape,
    host: Host::Moves,
    device: Device::Put,
};

fn shape(operands: &[Shape], _: Option<ElementType>) -> Result<Shape, Misfit> {
    let (to, from) = (operands[0], operands[1]);
    let help = format!("declare both as {to}");
    if to.element != from.element {
        return Err(mistyped(
            format!(
                "`put` copies elements as they are, but one tile holds {} and the other {}",
                from.element, to.element
            ),
            help,
        ));
    }
    if (to.rows, to.cols) != (from.rows, from.cols) {
        return Err(misshapen(
            format!(
                "`put` copies a tile of {}x{} to one of {}x{}: they must have the same size",
                from.rows, from.cols, to.rows, to.cols
            ),
            help,
        ));
    }
    Ok(to)
}

impl<T: Element, const R: usize, const C: usize> Tile<'_, T, R, C> {
    /// Copies all elements of `from`, a tile of the same size, to this tile, bit by bit: R×C to R×C.
    ///
    /// ```
    /// use hpmoe_kernels::TileBuf;
    ///
    /// let from = TileBuf::from_slice(2, 2, &[1, 2, 3, 4]);
    /// let to = TileBuf::<i32>::like(&from);
    /// to.tile::<2, 2>().put(&from.tile());
    /// assert_eq!(to.to_vec(), [1, 2, 3, 4]);
    /// ```
    ///
    /// # Panics
    ///
    /// If the sizes of the tiles differ at run time.
    pub fn put(&mut self, from: &Tile<'_, T, R, C>) {
        assert_eq!(
            (self.rows(), self.width()),
            (from.rows(), from.width()),
            "`put` needs tiles of the same size (rows, columns)"
        );
        for row in 0..self.rows() {
            for (to, from) in self.row(row).iter().zip(from.row(row)) {
                to.set(from.get());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::tile;
    use super::*;

    #[test]
    fn needs_one_size_and_one_type() {
        let to = tile(ElementType::bf16, 16, 128);
        assert_eq!(shape(&[to, to], None), Ok(to));
        assert!(shape(&[to, tile(ElementType::f32, 16, 128)], None).unwrap_err().types);
        assert_eq!(
            shape(&[to, tile(ElementType::bf16, 32, 128)], None).unwrap_err().problem,
            "`put` copies a tile of 32x128 to one of 16x128: they must have the same size"
        );
    }
}
