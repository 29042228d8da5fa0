//! Weights, one matrix per rank.

use std::fmt;

use super::buffer::CellBuffer;
use super::tile::TileRows;
use crate::{Element, Tile};

/// An N×K matrix of one rank, used for all of its tokens, such as the weights of a shared expert.
#[derive(Clone)]
pub struct Matrix<T: Element, const N: usize, const K: usize> {
    cells: CellBuffer<T>,
}

impl<T: Element, const N: usize, const K: usize> Matrix<T, N, K> {
    /// Makes the matrix from its values, row after row.
    ///
    /// ```
    /// use hpmoe_kernels::Matrix;
    ///
    /// let w = Matrix::<f32, 3, 2>::from_slice(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    /// assert_eq!(w.tile::<2>(1).to_vec(), [5.0, 6.0]);
    /// assert_eq!(w.cols::<1>(1).to_vec(), [2.0, 4.0, 6.0]);
    /// ```
    ///
    /// # Panics
    ///
    /// If N·K is 0, or the number of values is not N·K.
    #[must_use]
    pub fn from_slice(values: &[T]) -> Self {
        assert!(
            N * K > 0 && values.len() == N * K,
            "a matrix of {N}x{K} can't be made of {} values: pass all of its rows",
            values.len()
        );
        Self { cells: CellBuffer::copied(values) }
    }

    /// All elements, row after row.
    #[must_use]
    pub fn to_vec(&self) -> Vec<T> {
        self.cells.to_vec()
    }

    /// The address of the first element: 512-byte aligned, valid for reads of `N * K` elements while `self` lives.
    #[must_use]
    pub fn address(&self) -> *const T {
        self.cells.as_ptr().cast()
    }

    /// Row tile `n` of `R` rows: `[n·R, min((n + 1)·R, N))`.
    ///
    /// # Panics
    ///
    /// If the tile starts after the last row.
    #[must_use]
    pub fn tile<const R: usize>(&self, n: usize) -> Tile<'_, T, R, K> {
        self.all().tile(n)
    }

    /// Column tile `n` of `C` columns: `[n·C, min((n + 1)·C, K))`.
    ///
    /// # Panics
    ///
    /// If the tile starts after the last column.
    #[must_use]
    pub fn cols<const C: usize>(&self, n: usize) -> Tile<'_, T, N, C> {
        self.all().cols(n)
    }

    fn all(&self) -> Tile<'_, T, N, K> {
        Tile::new(&self.cells, K, TileRows::Range { first: 0, count: N })
    }
}

impl<T: Element, const N: usize, const K: usize> fmt::Debug for Matrix<T, N, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Matrix<{}, {N}, {K}>", T::TYPE)
    }
}
