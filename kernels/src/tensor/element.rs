//! Element types of tensors.

use crate::op::ElementType;
#[cfg(feature = "bf16")]
use half::bf16;
use std::fmt::Debug;

mod sealed {
    pub trait Sealed {}
    #[cfg(feature = "bf16")]
    impl Sealed for half::bf16 {}
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
    /// Widens exactly.
    fn to_f32(self) -> f32;
}

/// An element type that the matrix cores multiply.
pub trait CubeElement: Number {}

/// An element type that can be loaded, rounded to and stored.
pub trait Float: Number {
    /// Rounds to nearest, ties to even.
    fn from_f32(value: f32) -> Self;
}

#[cfg(feature = "bf16")]
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

#[cfg(feature = "bf16")]
impl CubeElement for bf16 {}

#[cfg(feature = "bf16")]
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

#[cfg(feature = "bf16")]
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
    fn bf16_rounds_to_nearest_even() {
        let round = |bits: u32| <bf16 as Float>::from_f32(f32::from_bits(bits)).to_bits();
        assert_eq!(round(0x3f80_8000), 0x3f80, "a tie goes to the even neighbour below");
        assert_eq!(round(0x3f81_8000), 0x3f82, "a tie goes to the even neighbour above");
        assert_eq!(round(0x3f80_8001), 0x3f81);
        assert_eq!(round(0x7f7f_ffff), 0x7f80, "the largest f32 rounds to infinity");
        assert_eq!(round(0x0000_8001), 0x0001, "subnormals are kept");
    }

    #[test]
    fn poison_has_all_bits_set() {
        assert_eq!(bf16::POISON.to_bits(), 0xffff);
        assert_eq!(f32::POISON.to_bits(), 0xffff_ffff);
        assert_eq!((i32::POISON, i8::POISON), (-1, -1));
        assert!(bf16::POISON.to_f32().is_nan());
    }
}
