//! `x.matmul_t(w)`: the product x · wᵀ on the cube.

use std::cell::Cell;

use super::{bytes, misshapen, mistyped};
use crate::op::{Core, Device, ElementType, Misfit, Operation, Place, Shape, Spelling, Work};
use crate::{Tile, Value, bf16};

/// Multiplies two tiles.
pub(super) static OPERATION: Operation = Operation {
    spelling: Spelling::Method("matmul_t"),
    cores: &[Core::Cube],
    operands: &[Place::Tile, Place::Tile],
    takes_element: false,
    shape,
    device: Device::Matmul,
    work,
};

fn shape(operands: &[Shape], _: Option<ElementType>) -> Result<Shape, Misfit> {
    let (x, w) = (operands[0], operands[1]);
    for tile in [x, w] {
        if tile.element != ElementType::bf16 {
            return Err(mistyped(
                format!("`matmul_t` multiplies bf16 tiles, but this is a {tile}"),
                "declare the tile as bf16",
            ));
        }
    }
    if x.cols != w.cols {
        return Err(misshapen(
            format!(
                "`matmul_t` contracts columns with columns, but the left tile has {} columns and the right one {}",
                x.cols, w.cols
            ),
            format!("x.matmul_t(w) takes Tile<bf16, {}, K> and Tile<bf16, {}, K> with one K", x.rows, w.rows),
        ));
    }
    Ok(Shape { place: Place::Value, element: ElementType::f32, rows: x.rows, cols: w.rows })
}

fn work(operands: &[Shape], result: &Shape) -> Work {
    let (x, w) = (&operands[0], &operands[1]);
    Work {
        cube_flops: 2 * (result.rows * result.cols * x.cols) as u64,
        moved_bytes: bytes(x) + bytes(w),
        ..Work::default()
    }
}

impl<const R: usize, const K: usize> Tile<'_, bf16, R, K> {
    /// x · wᵀ: R×K times N×K gives R×N in f32. Each sum starts at 0 and adds its products in ascending k, each product
    /// and each sum rounded once. (Products of bf16 are exact in f32.)
    ///
    /// ```
    /// use hpmoe_kernels::{TileBuf, bf16};
    ///
    /// let x = TileBuf::<bf16>::from_f32(1, 2, &[1.0, 2.0]);
    /// let w = TileBuf::<bf16>::from_f32(3, 2, &[1.0, 0.0, 0.0, 1.0, 3.0, 4.0]);
    /// let y = x.tile::<16, 16>().matmul_t(&w.tile::<16, 16>());
    /// assert_eq!((y.rows(), y.cols()), (1, 3));
    /// assert_eq!(y.as_slice(), [1.0, 2.0, 11.0]);
    /// ```
    ///
    /// # Panics
    ///
    /// When the tiles really have different numbers of columns.
    #[must_use]
    pub fn matmul_t<const N: usize>(&self, w: &Tile<'_, bf16, N, K>) -> Value<R, N> {
        assert_eq!(self.width(), w.width(), "`matmul_t` contracts columns with columns, their numbers are");
        let x_rows: Vec<_> = (0..self.rows()).map(|row| self.row(row)).collect();
        let w_rows: Vec<_> = (0..w.rows()).map(|row| w.row(row)).collect();
        Value::new(self.rows(), w.rows(), product(&x_rows, &w_rows, self.width()))
    }
}

/// x · wᵀ from the rows of both. `w` is transposed first, so that the inner loop runs over columns of the result, each
/// with its own sum: the order of sums does not depend on how it is vectorised.
fn product(x: &[&[Cell<bf16>]], w: &[&[Cell<bf16>]], depth: usize) -> Vec<f32> {
    let cols = w.len();
    let mut panel = vec![0.0_f32; depth * cols];
    for (n, row) in w.iter().enumerate() {
        for (k, cell) in row.iter().enumerate() {
            panel[k * cols + n] = cell.get().to_f32();
        }
    }
    let mut result = vec![0.0_f32; x.len() * cols];
    if cols == 0 {
        return result;
    }
    for (sums, row) in result.chunks_exact_mut(cols).zip(x) {
        for (factors, cell) in panel.chunks_exact(cols).zip(row.iter()) {
            let a = cell.get().to_f32();
            for (sum, b) in sums.iter_mut().zip(factors) {
                *sum += a * b;
            }
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::super::tests::{tile, value};
    use super::*;
    use crate::TileBuf;

    #[test]
    fn contracts_columns_with_columns() {
        let (x, w) = (tile(ElementType::bf16, 128, 7168), tile(ElementType::bf16, 256, 7168));
        assert_eq!(shape(&[x, w], None), Ok(value(128, 256)));
        assert_eq!(work(&[x, w], &value(128, 256)).cube_flops, 2 * 128 * 256 * 7168);

        let misfit = shape(&[x, tile(ElementType::bf16, 256, 2048)], None).unwrap_err();
        assert!(!misfit.types);
        assert_eq!(
            misfit.problem,
            "`matmul_t` contracts columns with columns, but the left tile has 7168 columns and the right one 2048"
        );
        assert!(shape(&[x, tile(ElementType::f32, 256, 7168)], None).unwrap_err().types);
    }

    #[test]
    fn sums_in_ascending_order_of_the_contraction() {
        // 2^24 + 1 rounds to 2^24, so the ones are lost unless they are summed first.
        let mut x = vec![1.0; 4];
        x[0] = 16_777_216.0;
        let forward = TileBuf::<bf16>::from_f32(1, 4, &x);
        x.reverse();
        let backward = TileBuf::<bf16>::from_f32(1, 4, &x);
        let ones = TileBuf::<bf16>::from_f32(1, 4, &[1.0; 4]);
        let sum = |x: &TileBuf<bf16>| x.tile::<1, 4>().matmul_t(&ones.tile::<1, 4>()).as_slice()[0];
        assert_eq!(sum(&forward), 16_777_216.0);
        assert_eq!(sum(&backward), 16_777_220.0, "2^24 + 3 rounds to 2^24 + 4");
    }
}
