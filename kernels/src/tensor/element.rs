//! Element types of tensors.

use super::bfloat16::bf16;
use super::float16::f16;
use super::{Integers, Value, i4x2};
use crate::op::ElementType;
use std::fmt::Debug;

mod sealed {
    pub trait Sealed {}
    impl Sealed for crate::bf16 {}
    impl Sealed for crate::f16 {}
    impl Sealed for f32 {}
    impl Sealed for i32 {}
    impl Sealed for i8 {}
    impl Sealed for crate::i4x2 {}
}

/// An element type of tensors and tiles: `bf16`, `f16`, `f32`, `i32`, `i8` or `i4x2`.
pub trait Element: sealed::Sealed + Copy + Default + PartialEq + Debug + Send + Sync + 'static {
    /// The element type as a run-time value.
    const TYPE: ElementType;
    /// The value with all bits set, which unwritten memory holds. NaN for the float types.
    const POISON: Self;
}

/// An element type of tiles that can be loaded: every element type except `i4x2`.
pub trait Number: Element {
    /// The number as f32. It is exact, except that i32 numbers beyond ±2^24 are rounded to nearest, ties to even.
    fn to_f32(self) -> f32;
}

/// An element type that the matrix cores multiply: `bf16`, `f16` or `f32`, with sums in f32, or `i8`, with sums in i32.
pub trait CubeElement: Number {
    /// The type in which products are summed.
    type Sum: Accumulator;
    /// The type of the product of two tiles: [`Value`] for floats, [`Integers`] for `i8`.
    type Product<const R: usize, const C: usize>;
    /// The number in the type of sums, converted exactly.
    fn widened(self) -> Self::Sum;
    /// Makes a product from its sums, row after row.
    fn product<const R: usize, const C: usize>(rows: usize, cols: usize, sums: Vec<Self::Sum>) -> Self::Product<R, C>;
}

/// A type in which products are summed: `f32` or `i32`.
pub trait Accumulator: sealed::Sealed + Copy + Default {
    /// Adds a product to `sums`, which has rows of `width` columns. For one contracted index after another, `rows` has a
    /// factor for each row of `sums`, and `columns` has one for each column. Each sum adds its products in ascending order
    /// of the contracted index.
    #[doc(hidden)]
    fn add_product(sums: &mut [Self], width: usize, rows: &[Self], columns: &[Self]);
}

// Not generic, so that it is compiled with this package's optimization level and not the caller's.
macro_rules! accumulators {
    ($($name:ident)*) => {$(
        impl Accumulator for $name {
            fn add_product(sums: &mut [Self], width: usize, rows: &[Self], columns: &[Self]) {
                let height = sums.len() / width;
                for (m, sums) in sums.chunks_exact_mut(width).enumerate() {
                    for (row, factors) in rows.chunks_exact(height).zip(columns.chunks_exact(width)) {
                        for (sum, factor) in sums.iter_mut().zip(factors) {
                            *sum += row[m] * *factor;
                        }
                    }
                }
            }
        }
    )*};
}

accumulators!(f32 i32);

/// An element type that values can be rounded to and stored in.
pub trait Stored: Number {
    /// Rounds to nearest, ties to even. For i32 and i8, numbers out of range become the nearest number of the type, and
    /// NaN becomes 0.
    fn from_f32(value: f32) -> Self;
}

/// An element type that a value can be cast to: `bf16`, `f16` or `f32`.
pub trait Float: Stored {}

macro_rules! added_in_f32 {
    ($name:ident) => {
        impl CubeElement for $name {
            type Sum = f32;
            type Product<const R: usize, const C: usize> = Value<R, C>;

            fn widened(self) -> f32 {
                Number::to_f32(self)
            }

            fn product<const R: usize, const C: usize>(rows: usize, cols: usize, sums: Vec<f32>) -> Value<R, C> {
                Value::new(rows, cols, sums)
            }
        }
    };
}

added_in_f32!(bf16);
added_in_f32!(f16);
added_in_f32!(f32);

macro_rules! element_of_16_bits {
    ($name:ident) => {
        impl Element for $name {
            const TYPE: ElementType = ElementType::$name;
            const POISON: Self = Self::from_bits(u16::MAX);
        }

        impl Number for $name {
            fn to_f32(self) -> f32 {
                self.to_f32()
            }
        }

        impl Float for $name {}

        impl Stored for $name {
            fn from_f32(value: f32) -> Self {
                Self::from_f32(value)
            }
        }
    };
}

element_of_16_bits!(bf16);
element_of_16_bits!(f16);

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

impl Element for i4x2 {
    const TYPE: ElementType = ElementType::i4x2;
    const POISON: Self = Self::from_bits(u8::MAX);
}

/// An element type of codes, whose meaning a table gives: `i8` holds one code per column, `i4x2` two.
pub trait Codes: Element {
    /// Number of different codes, which is the size of a table. Negative codes use the table's second half.
    const COUNT: usize;
    /// Number of codes per element.
    const EACH: usize;
    /// The table indices of this element's codes.
    fn places(self) -> impl Iterator<Item = usize>;
}

impl Codes for i8 {
    const COUNT: usize = 256;
    const EACH: usize = 1;

    fn places(self) -> impl Iterator<Item = usize> {
        std::iter::once((self as u8).into())
    }
}

impl Codes for i4x2 {
    const COUNT: usize = 16;
    const EACH: usize = 2;

    fn places(self) -> impl Iterator<Item = usize> {
        [self.to_bits() & 15, self.to_bits() >> 4].into_iter().map(usize::from)
    }
}

impl CubeElement for i8 {
    type Sum = i32;
    type Product<const R: usize, const C: usize> = Integers<R, C>;

    fn widened(self) -> i32 {
        self.into()
    }

    fn product<const R: usize, const C: usize>(rows: usize, cols: usize, sums: Vec<i32>) -> Integers<R, C> {
        Integers::new(rows, cols, sums)
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

impl Number for i32 {
    fn to_f32(self) -> f32 {
        self as f32
    }
}

impl Float for f32 {}

impl Stored for i32 {
    fn from_f32(value: f32) -> Self {
        value.round_ties_even() as Self
    }
}

impl Stored for i8 {
    fn from_f32(value: f32) -> Self {
        value.round_ties_even() as Self
    }
}

impl Stored for f32 {
    fn from_f32(value: f32) -> Self {
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_are_rounded_and_saturate() {
        let rounded = [0.5, 1.5, -2.5, 3e9, -3e9, f32::NAN].map(i32::from_f32);
        assert_eq!(rounded, [0, 2, -2, i32::MAX, i32::MIN, 0]);
        assert_eq!([126.5, -127.5, 128.0, -1e9, f32::NAN].map(i8::from_f32), [126, -128, 127, -128, 0]);
        assert_eq!((i32::MAX - 64).to_f32(), 2_147_483_520.0);
    }

    #[test]
    fn poison_has_all_bits_set() {
        assert_eq!((bf16::POISON.to_bits(), f16::POISON.to_bits()), (0xffff, 0xffff));
        assert_eq!(f32::POISON.to_bits(), 0xffff_ffff);
        assert_eq!((i32::POISON, i8::POISON), (-1, -1));
        assert!(bf16::POISON.to_f32().is_nan() && f16::POISON.to_f32().is_nan());
    }
}
