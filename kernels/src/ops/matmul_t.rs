//! `x.matmul_t(w)`: the product x · wᵀ on the cube.

use super::product::{Factor, Side, fits};
use super::rules::any_numbers;
use crate::op::{Contracted, Device, ElementType, Host, Misfit, OperandKind, Operation, Shape, Spelling, TaskKind};
use crate::{CubeElement, Tile};

/// The operation `matmul_t`: the product of two tiles, which contracts both along their columns.
pub(super) static OPERATION: Operation = Operation {
    spelling: Spelling::Method("matmul_t"),
    cores: &[TaskKind::Matrix],
    operands: &[OperandKind::Tile, OperandKind::Tile],
    takes_element: false,
    numbers: any_numbers,
    shape,
    host: Host::product(|_, x, w| x.matmul_t(&w)),
    device: Device::Matmul { x: Contracted::Columns, w: Contracted::Columns, adds: false },
};

const TYPES: &[ElementType] = &[ElementType::bf16, ElementType::f16, ElementType::f32, ElementType::i8];

fn shape(operands: &[Shape], _: Option<ElementType>) -> Result<Shape, Misfit> {
    fits("matmul_t", TYPES, Side::columns(&operands[0]), Side::columns(&operands[1]))
}

impl<T: CubeElement, const R: usize, const K: usize> Tile<'_, T, R, K> {
    /// x · wᵀ: R×K times N×K gives R×N.
    ///
    /// For bf16, f16 or f32 tiles the result is a value. Each sum starts at 0 and adds its products in ascending k in
    /// f32, with each product and each sum rounded once. (Products of f16 are exact in f32, and so are those of bf16
    /// within its range.) For i8 tiles the result is exact, as [`Integers`](crate::Integers), which can be stored in a
    /// tile of i32.
    ///
    /// ```
    /// use hpmoe_kernels::{TileBuf, bf16};
    ///
    /// let x = TileBuf::<bf16>::from_f32(1, 2, &[1.0, 2.0]);
    /// let w = TileBuf::<bf16>::from_f32(3, 2, &[1.0, 0.0, 0.0, 1.0, 3.0, 4.0]);
    /// let y = x.tile::<16, 16>().matmul_t(&w.tile::<16, 16>());
    /// assert_eq!((y.rows(), y.cols()), (1, 3));
    /// assert_eq!(y.as_slice(), [1.0, 2.0, 11.0]);
    ///
    /// let x = TileBuf::<i8>::from_slice(1, 2, &[127, -128]);
    /// let sums = TileBuf::<i32>::from_slice(1, 1, &[0]);
    /// sums.tile::<16, 16>().store(x.tile::<16, 16>().matmul_t(&x.tile::<16, 16>()));
    /// assert_eq!(sums.to_vec(), [127 * 127 + 128 * 128]);
    /// ```
    ///
    /// # Panics
    ///
    /// If, at run time, the tiles have different numbers of columns.
    #[must_use]
    pub fn matmul_t<const N: usize>(&self, w: &Tile<'_, T, N, K>) -> T::Product<R, N> {
        let (x, w) = (Factor::new(self, Contracted::Columns), Factor::new(w, Contracted::Columns));
        T::product(x.free(), w.free(), x.times(&w, "matmul_t"))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{tile, value};
    use super::*;
    use crate::{TileBuf, bf16};

    #[test]
    fn contracts_columns_with_columns() {
        let (x, w) = (tile(ElementType::bf16, 128, 7168), tile(ElementType::bf16, 256, 7168));
        assert_eq!(shape(&[x, w], None), Ok(value(128, 256)));

        let misfit = shape(&[x, tile(ElementType::bf16, 256, 2048)], None).unwrap_err();
        assert!(!misfit.types);
        assert_eq!(
            misfit.problem,
            "`matmul_t` contracts columns with columns, but the left tile has 7168 columns and the right one 2048"
        );
        assert!(shape(&[x, tile(ElementType::f32, 256, 7168)], None).unwrap_err().types);
        let wide = tile(ElementType::f32, 128, 7168);
        assert_eq!(shape(&[wide, wide], None), Ok(value(128, 128)));
        let bytes = tile(ElementType::i8, 128, 7168);
        assert_eq!(shape(&[bytes, bytes], None).unwrap().element, ElementType::i32);
        let misfit = shape(&[x, bytes], None).unwrap_err();
        let halves = tile(ElementType::f16, 128, 7168);
        assert_eq!(shape(&[halves, halves], None), Ok(value(128, 128)));
        assert!(shape(&[x, halves], None).unwrap_err().types);
        assert_eq!(
            misfit.problem,
            "`matmul_t` multiplies tiles of the same type, but these are Tile<bf16, 128, 7168> and Tile<i8, 128, 7168>"
        );
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
