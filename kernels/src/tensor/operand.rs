//! What stands next to a value: another value, or a number.

use super::Value;

/// The right side of an operation on a value of R×C: a value of that size, one row or one column for all of it, or a number.
pub trait Operand<const R: usize, const C: usize> {
    /// Combines each number of `left` with that of this operand.
    fn after(&self, left: &Value<R, C>, operation: &str, f: impl Fn(f32, f32) -> f32) -> Value<R, C>;
}

impl<const R: usize, const C: usize> Operand<R, C> for f32 {
    fn after(&self, left: &Value<R, C>, _: &str, f: impl Fn(f32, f32) -> f32) -> Value<R, C> {
        left.map(|x| f(x, *self))
    }
}

impl<const R: usize, const C: usize, const R2: usize, const C2: usize> Operand<R, C> for Value<R2, C2> {
    fn after(&self, left: &Value<R, C>, operation: &str, f: impl Fn(f32, f32) -> f32) -> Value<R, C> {
        left.zip(self, operation, f)
    }
}

impl<const R: usize, const C: usize, const R2: usize, const C2: usize> Operand<R, C> for &Value<R2, C2> {
    fn after(&self, left: &Value<R, C>, operation: &str, f: impl Fn(f32, f32) -> f32) -> Value<R, C> {
        left.zip(self, operation, f)
    }
}

/// A value of R rows, taken as it is or by reference, however many columns it has.
pub trait Rows<const R: usize> {
    /// Number of rows.
    fn count(&self) -> usize;
    /// Number of columns.
    fn cols(&self) -> usize;
    /// The most columns, as its type states them.
    fn most_cols(&self) -> usize;
    /// The numbers of one row.
    fn numbers(&self, row: usize) -> &[f32];
    /// Which rows are those of empty slots; nothing where none is.
    fn which_are_empty(&self) -> &[bool];
}

impl<const R: usize, const C: usize> Rows<R> for Value<R, C> {
    fn count(&self) -> usize {
        self.rows()
    }

    fn cols(&self) -> usize {
        self.cols()
    }

    fn most_cols(&self) -> usize {
        C
    }

    fn numbers(&self, row: usize) -> &[f32] {
        self.row(row)
    }

    fn which_are_empty(&self) -> &[bool] {
        self.empty()
    }
}

impl<const R: usize, T: Rows<R>> Rows<R> for &T {
    fn count(&self) -> usize {
        (**self).count()
    }

    fn cols(&self) -> usize {
        (**self).cols()
    }

    fn most_cols(&self) -> usize {
        (**self).most_cols()
    }

    fn numbers(&self, row: usize) -> &[f32] {
        (**self).numbers(row)
    }

    fn which_are_empty(&self) -> &[bool] {
        (**self).which_are_empty()
    }
}
