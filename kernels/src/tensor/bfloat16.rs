//! The element type bf16.

use std::cmp::Ordering;
use std::fmt;

/// A bfloat16: the upper half of an f32, with 8 exponent bits and 7 fraction bits.
///
/// Tensors hold it and arithmetic is done in f32, so that it has conversions, comparisons and nothing else. The feature
/// `half` converts from and to the type of that crate. (Without it a clean build has neither `half` nor what it depends
/// on, which would be a seventh of the processor time.)
///
/// ```
/// use hpmoe_kernels::bf16;
///
/// let third = bf16::from_f32(1.0 / 3.0);
/// assert_eq!(third.to_f32(), 0.333_984_38);
/// assert_eq!(bf16::from_le_bytes(third.to_le_bytes()), third);
/// ```
#[expect(non_camel_case_types, reason = "spelled like the primitive types f32 and i8")]
#[derive(Clone, Copy, Default)]
#[repr(transparent)]
pub struct bf16(u16);

impl bf16 {
    /// Positive zero.
    pub const ZERO: Self = Self(0);

    /// The number with these bits.
    #[must_use]
    pub const fn from_bits(bits: u16) -> Self {
        Self(bits)
    }

    /// The sixteen bits, sign first.
    #[must_use]
    pub const fn to_bits(self) -> u16 {
        self.0
    }

    /// The number with these bytes, the lowest first.
    #[must_use]
    pub const fn from_le_bytes(bytes: [u8; 2]) -> Self {
        Self(u16::from_le_bytes(bytes))
    }

    /// Its bytes, the lowest first.
    #[must_use]
    pub const fn to_le_bytes(self) -> [u8; 2] {
        self.0.to_le_bytes()
    }

    /// Rounds to nearest, ties to even. A NaN stays one: quiet, with the upper bits of its payload.
    #[must_use]
    #[inline]
    pub const fn from_f32(value: f32) -> Self {
        let bits = value.to_bits();
        if value.is_nan() {
            return Self((bits >> 16) as u16 | QUIET);
        }
        // Half a unit in the last place, less one where a tie goes down.
        let half = 0x7fff + ((bits >> 16) & 1);
        Self(((bits + half) >> 16) as u16)
    }

    /// Widens exactly; a NaN becomes quiet.
    #[must_use]
    #[inline]
    pub const fn to_f32(self) -> f32 {
        let value = f32::from_bits((self.0 as u32) << 16);
        if value.is_nan() { f32::from_bits(((self.0 | QUIET) as u32) << 16) } else { value }
    }

    /// Widens exactly; a NaN becomes quiet.
    #[must_use]
    #[inline]
    pub const fn to_f64(self) -> f64 {
        self.to_f32() as f64
    }
}

/// The bit that tells quiet NaNs from signalling ones.
const QUIET: u16 = 0x0040;

impl From<bf16> for f32 {
    fn from(value: bf16) -> Self {
        value.to_f32()
    }
}

/// As numbers: both zeros are equal, and a NaN equals nothing.
impl PartialEq for bf16 {
    fn eq(&self, other: &Self) -> bool {
        self.to_f32() == other.to_f32()
    }
}

impl PartialOrd for bf16 {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.to_f32().partial_cmp(&other.to_f32())
    }
}

impl fmt::Debug for bf16 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.to_f32(), f)
    }
}

impl fmt::Display for bf16 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.to_f32(), f)
    }
}

#[cfg(any(feature = "half", test))]
impl From<half::bf16> for bf16 {
    fn from(value: half::bf16) -> Self {
        Self(value.to_bits())
    }
}

#[cfg(any(feature = "half", test))]
impl From<bf16> for half::bf16 {
    fn from(value: bf16) -> Self {
        Self::from_bits(value.0)
    }
}

#[cfg(test)]
mod tests {
    use super::bf16;
    use proptest::prelude::*;

    #[test]
    fn widens_as_the_crate_half_does() {
        for bits in 0..=u16::MAX {
            let expected = half::bf16::from_bits(bits).to_f32();
            assert_eq!(bf16::from_bits(bits).to_f32().to_bits(), expected.to_bits(), "{bits:#06x}");
        }
    }

    /// Every bf16, its midpoint to the next one, and the neighbours of both.
    #[test]
    fn rounds_as_the_crate_half_does() {
        for upper in 0..=u16::MAX {
            for lower in [0, 1, 0x7fff, 0x8000, 0x8001, 0xffff] {
                let value = f32::from_bits((u32::from(upper) << 16) | lower);
                let expected = half::bf16::from_f32(value).to_bits();
                assert_eq!(bf16::from_f32(value).to_bits(), expected, "{:#010x}", value.to_bits());
            }
        }
    }

    #[test]
    fn rounds_to_nearest_even() {
        let round = |bits: u32| bf16::from_f32(f32::from_bits(bits)).to_bits();
        assert_eq!(round(0x3f80_8000), 0x3f80, "a tie goes to the even neighbour below");
        assert_eq!(round(0x3f81_8000), 0x3f82, "a tie goes to the even neighbour above");
        assert_eq!(round(0x3f80_8001), 0x3f81);
        assert_eq!(round(0x7f7f_ffff), 0x7f80, "the largest f32 rounds to infinity");
        assert_eq!(round(0x0000_8001), 0x0001, "subnormals are kept");
    }

    #[test]
    fn converts_to_the_crate_half_and_back() {
        let bits = 0xc049;
        let there = half::bf16::from(bf16::from_bits(bits));
        assert_eq!((there.to_bits(), bf16::from(there).to_bits()), (bits, bits));
    }

    proptest! {
        #[test]
        fn compares_as_numbers(left: u16, right: u16) {
            let (a, b) = (half::bf16::from_bits(left), half::bf16::from_bits(right));
            let (left, right) = (bf16::from_bits(left), bf16::from_bits(right));
            prop_assert_eq!((left == right, left.partial_cmp(&right)), (a == b, a.partial_cmp(&b)));
            prop_assert_eq!((left.to_string(), format!("{left:?}")), (a.to_string(), format!("{a:?}")));
        }
    }
}
