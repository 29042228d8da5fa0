//! Element types of tensors.

use super::bfloat16::bf16;
use crate::op::ElementType;
use std::fmt::Debug;

mod sealed {
    pub trait Sealed {}
    impl Sealed for crate::bf16 {}
    impl Sealed for f32 {}
    impl Sealed for i32 {}
    impl Sealed for i8 {}
}

/// An element type of tensors and tiles: `bf16`, `f32`, `i32` or `i8`.
pub trait Element: sealed::Sealed + Copy + Default + PartialEq + Debug + Send + Sync + 'static {
    /// The same type as a value.
    const TYPE: ElementType;
    /// The value with all bits set, which unwritten memory holds. NaN for the float types.
    const POISON: Self;
}

/// An element type that can be loaded: each of its numbers is an f32.
pub trait Number: Element {
    /// The number as f32, which is exact.
    fn to_f32(self) -> f32;
}

/// An element type that the matrix cores multiply.
pub trait CubeElement: Number {}

/// An element type that can be loaded, rounded to and stored.
pub trait Float: Number {
    /// Rounds to nearest, ties to even.
    fn from_f32(value: f32) -> Self;
}

impl Element for bf16 {
    const TYPE: ElementType = ElementType::bf16;
    const POISON: Self = Self::from_bits(u16::MAX);
}

impl Element for f32 {
    const TYPE: ElementType = ElementType::f32;
    const POISON: Self = Self::from_bits(u32::MAX);
}

impl Element for i32 {
    const TYPE: ElementType = ElementType::i32;
    const POISON: Self = -1;
}

impl Element for i8 {
    const TYPE: ElementType = ElementType::i8;
    const POISON: Self = -1;
}

impl CubeElement for bf16 {}

impl Number for bf16 {
    fn to_f32(self) -> f32 {
        self.to_f32()
    }
}

impl Number for f32 {
    fn to_f32(self) -> f32 {
        self
    }
}

impl Number for i8 {
    fn to_f32(self) -> f32 {
        self.into()
    }
}

impl Float for bf16 {
    fn from_f32(value: f32) -> Self {
        Self::from_f32(value)
    }
}

impl Float for f32 {
    fn from_f32(value: f32) -> Self {
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn poison_has_all_bits_set() {
        assert_eq!(bf16::POISON.to_bits(), 0xffff);
        assert_eq!(f32::POISON.to_bits(), 0xffff_ffff);
        assert_eq!((i32::POISON, i8::POISON), (-1, -1));
        assert!(bf16::POISON.to_f32().is_nan());
    }
}
