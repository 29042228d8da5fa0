//! Values, which are held on chip.

/// Maximum number of rows, and of columns, of [`AnyValue`] and [`AnyTile`](crate::op::AnyTile). It is a multiple of every
/// size by which operations divide rows or columns.
pub const MOST: usize = 1 << 16;

/// A value of any size up to [`MOST`] rows and columns.
pub type AnyValue = Value<MOST, MOST>;

/// At most R×C numbers, held on chip while a task runs.
///
/// The numbers are f32; after a [`cast`](Value::cast), each is representable in the narrower type. `R` and `C` are the
/// bounds in the source; [`rows`](Value::rows) and [`cols`](Value::cols) are the sizes at run time.
#[derive(Clone, Debug, PartialEq)]
pub struct Value<const R: usize, const C: usize> {
    rows: usize,
    cols: usize,
    /// Whether the value is one row, or one column, that is repeated to the size of the value that it is combined with.
    open: [bool; 2],
    /// For each row, whether it belongs to an empty slot; empty if no row does. Sums over k skip these rows.
    empty: Vec<bool>,
    data: Vec<f32>,
}

impl<const R: usize, const C: usize> Value<R, C> {
    /// A value with the numbers of `data`, row after row.
    ///
    /// # Panics
    ///
    /// If there are more than `R` rows or `C` columns, or if `data.len()` is not `rows * cols`.
    #[must_use]
    pub fn new(rows: usize, cols: usize, data: Vec<f32>) -> Self {
        assert!(rows <= R && cols <= C, "a value of {rows}x{cols} is larger than its type, Value<{R}, {C}>");
        assert_eq!(data.len(), rows * cols, "a value of {rows}x{cols} can't be made of {} numbers", data.len());
        Self { rows, cols, open: [false; 2], empty: Vec::new(), data }
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
    /// If there is no such row.
    #[must_use]
    pub fn row(&self, row: usize) -> &[f32] {
        &self.data[row * self.cols..(row + 1) * self.cols]
    }

    /// All numbers, row after row.
    #[must_use]
    pub fn as_slice(&self) -> &[f32] {
        &self.data
    }

    /// Whether a row belongs to an empty slot.
    pub(crate) fn is_empty(&self, row: usize) -> bool {
        self.empty.get(row).is_some_and(|empty| *empty)
    }

    /// For each row, whether it belongs to an empty slot; empty if no row does.
    pub(crate) fn empty(&self) -> &[bool] {
        &self.empty
    }

    /// Marks rows as empty slots, unless some are marked already or the number of rows differs.
    #[must_use]
    pub(crate) fn with_empty(mut self, empty: &[bool]) -> Self {
        if self.empty.is_empty() && empty.len() == self.rows {
            self.empty = empty.to_vec();
        }
        self
    }

    /// This value with other bounds.
    pub(crate) fn bounded<const R2: usize, const C2: usize>(&self) -> Value<R2, C2> {
        Value::new(self.rows, self.cols, self.data.clone()).with_empty(&self.empty)
    }

    /// This value without bounds.
    pub(crate) fn any(&self) -> AnyValue {
        self.bounded()
    }

    pub(crate) fn map(&self, mut f: impl FnMut(f32) -> f32) -> Self {
        Self { data: self.data.iter().map(|x| f(*x)).collect(), empty: self.empty.clone(), ..*self }
    }

    /// Combines each number with the corresponding number of the other value, which has the same size, one row or one column.
    pub(crate) fn zip<const R2: usize, const C2: usize>(
        &self,
        other: &Value<R2, C2>,
        name: &str,
        f: impl Fn(f32, f32) -> f32,
    ) -> Self {
        const {
            assert!(
                (R2 == R || R2 == 1) && (C2 == C || C2 == 1),
                "the right operand must have the left one's size, or a single row or column"
            )
        };
        let is_one = |open: bool, bound: usize, size: usize| open || size == 1 && (bound == 1 || bound == MOST);
        let right = [is_one(other.open[0], R2, other.rows), is_one(other.open[1], C2, other.cols)];
        let size = |dimension: usize, left: usize, of_other: usize| {
            assert!(
                self.open[dimension] || right[dimension] || left == of_other,
                "`{name}` needs operands of the same size, or one row or column on the right, but their (rows, columns) are {:?} and {:?}",
                (self.rows, self.cols),
                (other.rows, other.cols)
            );
            if self.open[dimension] { of_other } else { left }
        };
        let (rows, cols) = (size(0, self.rows, other.rows), size(1, self.cols, other.cols));
        let mut data = Vec::with_capacity(rows * cols);
        for row in 0..rows {
            let left = self.row(if self.open[0] { 0 } else { row });
            let with = other.row(if right[0] { 0 } else { row });
            match (left, with) {
                ([x], with) if self.open[1] => data.extend(with.iter().map(|y| f(*x, *y))),
                (left, [y]) if right[1] => data.extend(left.iter().map(|x| f(*x, *y))),
                (left, with) => data.extend(left.iter().zip(with).map(|(x, y)| f(*x, *y))),
            }
        }
        let open = [self.open[0] && right[0], self.open[1] && right[1]];
        Self { rows, cols, open, empty: Vec::new(), data }.with_empty(&self.empty).with_empty(&other.empty)
    }

    /// This value with larger bounds, as `broadcast` gives it: its single row, or single column, stands for all rows or columns.
    pub(crate) fn opened<const R2: usize, const C2: usize>(&self) -> Value<R2, C2> {
        const { assert!((R == R2 || R == 1) && (C == C2 || C == 1), "`broadcast` can only repeat one row or one column") };
        let open = [self.open[0] || R != R2, self.open[1] || C != C2];
        let empty = if open[0] { Vec::new() } else { self.empty.clone() };
        Value { rows: self.rows, cols: self.cols, open, empty, data: self.data.clone() }
    }

    /// Whether the value's single row, or single column, is repeated to the size of the value that it is combined with.
    pub(crate) const fn open(&self) -> [bool; 2] {
        self.open
    }

    /// Every second column, from column `first` on.
    pub(crate) fn every_second<const H: usize>(&self, first: usize, name: &str) -> Value<R, H> {
        const { assert!(C == 2 * H, "the result must have half of the value's columns") };
        assert!(self.cols % 2 == 0, "`{name}` needs an even number of columns, but is given {}", self.cols);
        let data = (0..self.rows).flat_map(|row| self.row(row).iter().skip(first).step_by(2).copied()).collect();
        Value { rows: self.rows, cols: self.cols / 2, open: self.open, empty: self.empty.clone(), data }
    }
}
