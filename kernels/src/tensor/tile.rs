//! Tiles, the parameters of tasks.

use std::cell::Cell;
use std::fmt;

use super::MOST;
use super::buffer::CellBuffer;
use crate::{Element, Number, Stored, bf16};

/// The height of a tile that holds all rows received for an expert: `Tile<bf16, RAGGED, COLS>`.
///
/// It is a bound like any other, 2^30, and so large that no rank has memory for as many rows of a usual width.
pub const RAGGED: usize = 1 << 30;

/// The rows of a tensor that a tile covers.
#[derive(Clone, Copy)]
pub(crate) enum TileRows<'a> {
    /// `count` consecutive rows.
    Range { first: usize, count: usize },
    /// The rows of a list: tile row i is row `list[i] / per_row - before` of the tensor.
    Listed { list: &'a [i32], per_row: usize, before: usize },
}

impl TileRows<'_> {
    fn count(self) -> usize {
        match self {
            Self::Range { count, .. } => count,
            Self::Listed { list, .. } => list.len(),
        }
    }

    fn row(self, index: usize) -> usize {
        match self {
            Self::Range { first, .. } => first + index,
            Self::Listed { list, per_row, before } => {
                usize::try_from(list[index]).expect("a route lists no negative slot") / per_row - before
            }
        }
    }
}

/// A view of at most R×C elements of a tensor.
///
/// `R` and `C` are the bounds in the source; [`rows`](Tile::rows) and [`width`](Tile::width) are the sizes at run time,
/// so partial tiles need no special code. Tasks read a `&Tile` and write a `&mut Tile`; the elements themselves are
/// cells.
#[derive(Clone, Copy)]
pub struct Tile<'a, T, const R: usize, const C: usize> {
    cells: &'a [Cell<T>],
    pitch: usize,
    rows: TileRows<'a>,
    first_col: usize,
    cols: usize,
    /// For each row, whether it belongs to an empty slot; empty if no row does.
    empty: &'a [bool],
}

impl<'a, T: Element, const R: usize, const C: usize> Tile<'a, T, R, C> {
    /// Makes a tile with all columns of some rows of a tensor whose rows have `pitch` elements.
    pub(crate) fn new(cells: &'a [Cell<T>], pitch: usize, rows: TileRows<'a>) -> Self {
        let tile = Self { cells, pitch, rows, first_col: 0, cols: pitch, empty: &[] };
        tile.fits();
        tile
    }

    /// This tile, with the given rows marked as empty slots; an empty list marks none.
    pub(crate) const fn with_empty(self, empty: &'a [bool]) -> Self {
        Self { empty, ..self }
    }

    /// For each row, whether it belongs to an empty slot; empty if no row does.
    pub(crate) const fn empty(&self) -> &'a [bool] {
        self.empty
    }

    /// Whether a row belongs to an empty slot.
    pub(crate) fn is_empty(&self, row: usize) -> bool {
        self.empty.get(row).is_some_and(|empty| *empty)
    }

    /// A tile of rows of `cols` elements.
    ///
    /// # Panics
    ///
    /// If `cols` is 0, the number of cells is not a multiple of `cols`, or the tile would be larger than R×C.
    #[must_use]
    pub fn from_cells(cells: &'a [Cell<T>], cols: usize) -> Self {
        assert!(cols > 0 && cells.len() % cols == 0, "rows of {cols} elements can't be made of {} cells", cells.len());
        Self::new(cells, cols, TileRows::Range { first: 0, count: cells.len() / cols })
    }

    fn fits(&self) {
        let (rows, cols) = (self.rows(), self.cols);
        assert!(rows <= R && cols <= C, "a tile of {rows}x{cols} is larger than its type, Tile<{}, {R}, {C}>", T::TYPE);
    }

    /// Number of rows, at most `R`.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows.count()
    }

    /// Number of columns, at most `C`.
    #[must_use]
    pub const fn width(&self) -> usize {
        self.cols
    }

    /// Column tile `n` of `N` columns: `[n·N, min((n + 1)·N, columns))`.
    ///
    /// # Panics
    ///
    /// If the tile starts after the last column.
    #[must_use]
    pub fn cols<const N: usize>(&self, n: usize) -> Tile<'a, T, R, N> {
        assert!(n * N < self.cols, "columns {n}*{N}.. start after the last of {} columns", self.cols);
        let cols = N.min(self.cols - n * N);
        let first_col = self.first_col + n * N;
        Tile { cells: self.cells, pitch: self.pitch, rows: self.rows, first_col, cols, empty: self.empty }
    }

    /// Row tile `n` of `N` rows: `[n·N, min((n + 1)·N, rows))`.
    ///
    /// # Panics
    ///
    /// If the tile starts after the last row.
    #[must_use]
    pub fn tile<const N: usize>(&self, n: usize) -> Tile<'a, T, N, C> {
        assert!(n * N < self.rows(), "rows {n}*{N}.. start after the last of {} rows", self.rows());
        let count = N.min(self.rows() - n * N);
        let rows = match self.rows {
            TileRows::Range { first, .. } => TileRows::Range { first: first + n * N, count },
            TileRows::Listed { list, per_row, before } => {
                TileRows::Listed { list: &list[n * N..n * N + count], per_row, before }
            }
        };
        let empty = self.empty.get(n * N..n * N + count).unwrap_or(&[]);
        Tile { cells: self.cells, pitch: self.pitch, rows, first_col: self.first_col, cols: self.cols, empty }
    }

    /// The cells of one row, for `row` less than [`rows`](Self::rows).
    ///
    /// # Panics
    ///
    /// If the row lies outside of the tensor. If `row` is too large only for the tile, the result may be a row of the
    /// tensor that follows the tile.
    #[must_use]
    pub fn row(&self, row: usize) -> &'a [Cell<T>] {
        let start = self.rows.row(row) * self.pitch + self.first_col;
        &self.cells[start..start + self.cols]
    }

    /// All elements, row after row.
    #[must_use]
    pub fn to_vec(&self) -> Vec<T> {
        (0..self.rows()).flat_map(|row| self.row(row)).map(Cell::get).collect()
    }
}

impl<T: Element, const R: usize, const C: usize> fmt::Debug for Tile<'_, T, R, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tile<{}, {R}, {C}>[{}x{}]", T::TYPE, self.rows(), self.cols)
    }
}

/// A bf16 tile of any size up to [`MOST`] rows and columns.
pub type AnyTile<'a> = Tile<'a, bf16, MOST, MOST>;

/// A tile with its own memory, for unit tests of tasks.
///
/// ```
/// use hpmoe_kernels::{Tile, TileBuf, bf16};
///
/// fn double(x: &Tile<bf16, 4, 8>, y: &mut Tile<bf16, 4, 8>) {
///     let (a, b) = (x.load(), x.load());
///     y.store((a * b).cast::<bf16>());
/// }
///
/// let x = TileBuf::from_f32(1, 3, &[1.0, 2.0, 3.0]);
/// let y = TileBuf::like(&x);
/// double(&x.tile(), &mut y.tile());
/// assert_eq!(y.to_f32(), [1.0, 4.0, 9.0]);
/// ```
#[derive(Clone)]
pub struct TileBuf<T: Element> {
    cells: CellBuffer<T>,
    cols: usize,
}

impl<T: Element> TileBuf<T> {
    /// Makes a tile from its elements, row after row.
    ///
    /// # Panics
    ///
    /// If `cols` is 0, or `values.len()` is not `rows * cols`.
    #[must_use]
    pub fn from_slice(rows: usize, cols: usize, values: &[T]) -> Self {
        assert!(cols > 0 && values.len() == rows * cols, "{rows}x{cols} elements, but {} values", values.len());
        Self { cells: CellBuffer::copied(values), cols }
    }

    /// A tile of the same size as `other`, with every bit set, like memory that was not written.
    #[must_use]
    pub fn like<U: Element>(other: &TileBuf<U>) -> Self {
        Self { cells: CellBuffer::filled(other.cells.len(), T::POISON), cols: other.cols }
    }

    /// A view of the whole tile.
    ///
    /// # Panics
    ///
    /// If the tile is larger than R×C.
    #[must_use]
    pub fn tile<const R: usize, const C: usize>(&self) -> Tile<'_, T, R, C> {
        Tile::from_cells(&self.cells, self.cols)
    }

    /// All elements, row after row.
    #[must_use]
    pub fn to_vec(&self) -> Vec<T> {
        self.cells.to_vec()
    }
}

impl<T: Stored> TileBuf<T> {
    /// Makes a tile from numbers, row after row, each rounded to `T`.
    ///
    /// # Panics
    ///
    /// If `cols` is 0, or `values.len()` is not `rows * cols`.
    #[must_use]
    pub fn from_f32(rows: usize, cols: usize, values: &[f32]) -> Self {
        Self::from_slice(rows, cols, &values.iter().map(|value| T::from_f32(*value)).collect::<Vec<_>>())
    }
}

impl<T: Number> TileBuf<T> {
    /// All elements, row after row, widened to f32.
    #[must_use]
    pub fn to_f32(&self) -> Vec<f32> {
        self.cells.iter().map(|cell| cell.get().to_f32()).collect()
    }
}
