//! Values, which live on chip.

use crate::op::{AnyValue, MOST};

/// At most R×C numbers that live on chip while a task runs.
///
/// They are f32; after a [`cast`](Value::cast) each is one that the narrower type can hold. `R` and `C` are
/// the bounds in the source, [`rows`](Value::rows) and [`cols`](Value::cols) the sizes at run time.
#[derive(Clone, Debug, PartialEq)]
pub struct Value<const R: usize, const C: usize> {
    rows: usize,
    cols: usize,
    data: Vec<f32>,
}

impl<const R: usize, const C: usize> Value<R, C> {
    /// A value of these numbers, row after row.
    ///
    /// # Panics
    ///
    /// When there are more than `R` rows or `C` columns, or not `rows * cols` numbers.
    #[must_use]
    pub fn new(rows: usize, cols: usize, data: Vec<f32>) -> Self {
        assert!(rows <= R && cols <= C, "a value of {rows}x{cols} is larger than its type, Value<{R}, {C}>");
        assert_eq!(data.len(), rows * cols, "a value of {rows}x{cols} can't be made of {} numbers", data.len());
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

    /// The numbers of one row.
    ///
    /// # Panics
    ///
    /// When there is no such row.
    #[must_use]
    pub fn row(&self, row: usize) -> &[f32] {
        &self.data[row * self.cols..(row + 1) * self.cols]
    }

    /// All numbers, row after row.
    #[must_use]
    pub fn as_slice(&self) -> &[f32] {
        &self.data
    }

    /// The same numbers under other bounds.
    pub(crate) fn bounded<const R2: usize, const C2: usize>(&self) -> Value<R2, C2> {
        Value::new(self.rows, self.cols, self.data.clone())
    }

    /// The same numbers as a value of any size.
    pub(crate) fn any(&self) -> AnyValue {
        self.bounded()
    }

    pub(crate) fn map(&self, f: impl Fn(f32) -> f32) -> Self {
        Self { data: self.data.iter().map(|x| f(*x)).collect(), ..*self }
    }

    /// Combines each number with that of the other value: of one size, or one row or one column for all.
    pub(crate) fn zip<const R2: usize, const C2: usize>(
        &self,
        other: &Value<R2, C2>,
        name: &str,
        f: impl Fn(f32, f32) -> f32,
    ) -> Self {
        const { assert!((R2 == R || R2 == 1) && (C2 == C || C2 == 1), "the value on the left has the size of the result") };
        let spreads = |bound: usize, size: usize| size == 1 && (bound == 1 || bound == MOST);
        let (one_row, one_col) = (spreads(R2, other.rows), spreads(C2, other.cols));
        assert!(
            (one_row || other.rows == self.rows) && (one_col || other.cols == self.cols),
            "`{name}` needs operands of one size, or one row or column on the right, but rows and columns are {:?} and {:?}",
            (self.rows, self.cols),
            (other.rows, other.cols)
        );
        let mut data = Vec::with_capacity(self.data.len());
        for row in 0..self.rows {
            let right = other.row(if one_row { 0 } else { row });
            let left = self.row(row).iter();
            match (one_col, right) {
                (true, [y]) => data.extend(left.map(|x| f(*x, *y))),
                _ => data.extend(left.zip(right).map(|(x, y)| f(*x, *y))),
            }
        }
        Self { data, ..*self }
    }

    /// Every second column, from column `first` on.
    pub(crate) fn every_second<const H: usize>(&self, first: usize, name: &str) -> Value<R, H> {
        const { assert!(C == 2 * H, "half of the columns") };
        assert!(self.cols.is_multiple_of(2), "`{name}` takes columns in pairs, but there are {}", self.cols);
        let data = (0..self.rows).flat_map(|row| self.row(row).iter().skip(first).step_by(2).copied()).collect();
        Value { rows: self.rows, cols: self.cols / 2, data }
    }
}
