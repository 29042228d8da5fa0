//! What stands on the right of a value: another value, or a number.

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
