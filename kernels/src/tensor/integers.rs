//! Products of i8 tiles on chip.

/// At most R×C 32-bit integers: the exact product of i8 tiles, which a matrix core stores in a tile of i32.
///
/// `R` and `C` are the bounds in the source; [`rows`](Integers::rows) and [`cols`](Integers::cols) are the sizes at run
/// time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Integers<const R: usize, const C: usize> {
    rows: usize,
    cols: usize,
    data: Vec<i32>,
}

impl<const R: usize, const C: usize> Integers<R, C> {
    /// Integers from `data`, row after row.
    ///
    /// # Panics
    ///
    /// If there are more than `R` rows or `C` columns, or if `data.len()` is not `rows * cols`.
    #[must_use]
    pub fn new(rows: usize, cols: usize, data: Vec<i32>) -> Self {
        assert!(rows <= R && cols <= C, "integers of {rows}x{cols} are more than their type holds, Integers<{R}, {C}>");
        assert_eq!(data.len(), rows * cols, "integers of {rows}x{cols} can't be made of {} numbers", data.len());
        Self { rows, cols, data }
    }

    /// Number of rows, at most `R`.
    #[must_use]
    pub const fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns, at most `C`.
    #[must_use]
    pub const fn cols(&self) -> usize {
        self.cols
    }

    /// All numbers, row after row.
    #[must_use]
    pub fn as_slice(&self) -> &[i32] {
        &self.data
    }
}
