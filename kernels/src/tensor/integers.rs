//! What products of i8 leave on chip.

/// At most R×C numbers of 32 bits: the sums of a product of i8 tiles, exact, which a matrix core stores in a tile of i32.
///
/// `R` and `C` are the bounds in the source, [`rows`](Integers::rows) and [`cols`](Integers::cols) the sizes at run time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Integers<const R: usize, const C: usize> {
    rows: usize,
    cols: usize,
    data: Vec<i32>,
}

impl<const R: usize, const C: usize> Integers<R, C> {
    /// These numbers, row after row.
    ///
    /// # Panics
    ///
    /// When there are more than `R` rows or `C` columns, or not `rows * cols` numbers.
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
