//! `x.matmul(w)`: the product x · w on the cube.

use super::product::{Factor, HALVES, Side, fits};
use super::rules::any_numbers;
use crate::op::{Contracted, Device, ElementType, Host, Misfit, OperandKind, Operation, Shape, Spelling, TaskKind};
use crate::{CubeElement, Tile, Value};

/// The operation `matmul`: the product of two tiles, which contracts the left one along its columns and the right one
/// along its rows.
pub(super) static OPERATION: Operation = Operation {
    spelling: Spelling::Method("matmul"),
    cores: &[TaskKind::Matrix],
    operands: &[OperandKind::Tile, OperandKind::Tile],
    takes_element: false,
    numbers: any_numbers,
    shape,
    host: Host::product(|_, x, w| x.matmul(&w)),
    device: Device::Matmul { x: Contracted::Columns, w: Contracted::Rows, adds: false },
};

fn shape(operands: &[Shape], _: Option<ElementType>) -> Result<Shape, Misfit> {
    fits("matmul", HALVES, Side::columns(&operands[0]), Side::rows(&operands[1]))
}

impl<T: CubeElement<Sum = f32>, const R: usize, const K: usize> Tile<'_, T, R, K> {
    /// x · w: R×K times K×N gives R×N in f32. Sums have the order of [`matmul_t`](Self::matmul_t).
    ///
    /// ```
    /// use hpmoe_kernels::{TileBuf, bf16};
    ///
    /// let x = TileBuf::<bf16>::from_f32(1, 2, &[1.0, 2.0]);
    /// let w = TileBuf::<bf16>::from_f32(2, 3, &[1.0, 0.0, 3.0, 0.0, 1.0, 4.0]);
    /// let y = x.tile::<16, 16>().matmul(&w.tile::<16, 16>());
    /// assert_eq!(y.as_slice(), [1.0, 2.0, 11.0]);
    /// ```
    ///
    /// # Panics
    ///
    /// If, at run time, the number of columns of `x` is not the number of rows of `w`.
    #[must_use]
    pub fn matmul<const N: usize>(&self, w: &Tile<'_, T, K, N>) -> Value<R, N> {
        let (x, w) = (Factor::new(self, Contracted::Columns), Factor::new(w, Contracted::Rows));
        Value::new(x.free(), w.free(), x.times(&w, "matmul"))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{tile, value};
    use super::*;

    #[test]
    fn contracts_columns_with_rows() {
        let (x, w) = (tile(ElementType::bf16, 128, 2048), tile(ElementType::bf16, 2048, 256));
        assert_eq!(shape(&[x, w], None), Ok(value(128, 256)));
        let misfit = shape(&[x, tile(ElementType::bf16, 256, 2048)], None).unwrap_err();
        assert_eq!(
            misfit.problem,
            "`matmul` contracts columns with rows, but the left tile has 2048 columns and the right one 256 rows"
        );
        assert_eq!(misfit.help, "it takes Tile<bf16, 128, K> and Tile<bf16, K, 2048> with the same K");
    }
}
