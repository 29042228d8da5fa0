//! The element type bf16.

use super::half_precision::float_of_16_bits;

/// A bfloat16: the upper half of an f32, with 8 exponent bits and 7 fraction bits.
///
/// Tensors store it, but arithmetic is done in f32, so the type has only conversions and comparisons. The feature
/// `half` adds conversions to and from the type `bf16` of the crate `half`. (The feature is optional because `half` and
/// its dependencies would take a seventh of a clean build's processor time.)
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

float_of_16_bits!(bf16);

impl bf16 {
    /// Rounds to nearest, ties to even. Numbers that would round beyond the largest bfloat16 become infinite. A NaN stays
    /// NaN: it becomes quiet, with the upper bits of its payload.
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

    /// Widens exactly. A NaN becomes quiet.
    #[must_use]
    #[inline]
    pub const fn to_f32(self) -> f32 {
        let value = f32::from_bits((self.0 as u32) << 16);
        if value.is_nan() { f32::from_bits(((self.0 | QUIET) as u32) << 16) } else { value }
    }
}

/// The bit that distinguishes quiet NaNs from signalling ones.
const QUIET: u16 = 0x0040;

#[cfg(test)]
mod tests {
    use super::bf16;

    #[test]
    fn rounds_to_nearest_even() {
        let round = |bits: u32| bf16::from_f32(f32::from_bits(bits)).to_bits();
        assert_eq!(round(0x3f80_8000), 0x3f80, "a tie goes to the even neighbour below");
        assert_eq!(round(0x3f81_8000), 0x3f82, "a tie goes to the even neighbour above");
        assert_eq!(round(0x3f80_8001), 0x3f81);
        assert_eq!(round(0x7f7f_ffff), 0x7f80, "the largest f32 rounds to infinity");
        assert_eq!(round(0x0000_8001), 0x0001, "subnormals are kept");
    }
}
