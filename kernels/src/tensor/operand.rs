//! Operands of operations on values: another value, or a number.

use super::Value;

/// The right operand of an operation on an R×C value: a value of that size, one row or one column that is broadcast, or
/// a number.
pub trait Operand<const R: usize, const C: usize> {
    /// Applies `f` to each number of `left` and the corresponding number of this operand. Panics with a message that names
    /// `operation` if the sizes of `left` and this operand don't fit at run time.
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

/// A value of R rows and any number of columns, taken by value or by reference.
pub trait Rows<const R: usize> {
    /// Number of rows.
    fn count(&self) -> usize;
    /// Number of columns.
    fn cols(&self) -> usize;
    /// Maximum number of columns, as the value's type states it.
    fn most_cols(&self) -> usize;
    /// The numbers of one row.
    fn numbers(&self, row: usize) -> &[f32];
    /// Whether each row belongs to an empty slot; an empty list if no row does.
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
