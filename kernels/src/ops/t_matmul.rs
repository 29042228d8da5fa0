//! `x.t_matmul(w)`: the product xᵀ · w on the cube.

use super::product::{Factor, HALVES, Side, fits};
use super::rules::any_numbers;
use crate::op::{Contracted, Device, ElementType, Host, Misfit, OperandKind, Operation, Shape, Spelling, TaskKind};
use crate::{CubeElement, Tile, Value};

/// The operation `t_matmul`: the product of two tiles, which contracts both along their rows.
pub(super) static OPERATION: Operation = Operation {
    spelling: Spelling::Method("t_matmul"),
    cores: &[TaskKind::Matrix],
    operands: &[OperandKind::Tile, OperandKind::Tile],
    takes_element: false,
    numbers: any_numbers,
    shape,
    host: Host::product(|_, x, w| x.t_matmul(&w)),
    device: Device::Matmul { x: Contracted::Rows, w: Contracted::Rows, adds: false },
};

fn shape(operands: &[Shape], _: Option<ElementType>) -> Result<Shape, Misfit> {
    fits("t_matmul", HALVES, Side::rows(&operands[0]), Side::rows(&operands[1]))
}

impl<T: CubeElement<Sum = f32>, const K: usize, const M: usize> Tile<'_, T, K, M> {
    /// xᵀ · w: K×M and K×N give M×N in f32. Sums have the order of [`matmul_t`](Self::matmul_t). If `K` is
    /// [`RAGGED`](crate::RAGGED), all rows of an expert are contracted (possibly zero rows), as for a weight gradient.
    ///
    /// ```
    /// use hpmoe_kernels::{RAGGED, TileBuf, bf16};
    ///
    /// let x = TileBuf::<bf16>::from_f32(2, 1, &[1.0, 2.0]);
    /// let w = TileBuf::<bf16>::from_f32(2, 3, &[1.0, 0.0, 3.0, 0.0, 1.0, 4.0]);
    /// let y = x.tile::<RAGGED, 16>().t_matmul(&w.tile::<RAGGED, 16>());
    /// assert_eq!((y.rows(), y.cols()), (1, 3));
    /// assert_eq!(y.as_slice(), [1.0, 2.0, 11.0]);
    /// ```
    ///
    /// # Panics
    ///
    /// If, at run time, the tiles have different numbers of rows.
    #[must_use]
    pub fn t_matmul<const N: usize>(&self, w: &Tile<'_, T, K, N>) -> Value<M, N> {
        let (x, w) = (Factor::new(self, Contracted::Rows), Factor::new(w, Contracted::Rows));
        Value::new(x.free(), w.free(), x.times(&w, "t_matmul"))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{tile, value};
    use super::*;
    use crate::bf16;
    use crate::{RAGGED, TileBuf};

    #[test]
    fn contracts_ragged_rows() {
        let (x, w) = (tile(ElementType::bf16, RAGGED, 128), tile(ElementType::bf16, RAGGED, 256));
        assert_eq!(shape(&[x, w], None), Ok(value(128, 256)));
        let misfit = shape(&[tile(ElementType::bf16, 64, 128), w], None).unwrap_err();
        assert!(misfit.problem.starts_with("`t_matmul` contracts rows with rows, but the left tile has 64 rows"));
    }

    #[test]
    fn an_expert_without_rows_gives_zeros() {
        let (x, w) = (TileBuf::<bf16>::from_f32(0, 2, &[]), TileBuf::<bf16>::from_f32(0, 3, &[]));
        let y = x.tile::<RAGGED, 2>().t_matmul(&w.tile::<RAGGED, 3>());
        assert_eq!(y.as_slice(), [0.0; 6]);
    }
}
