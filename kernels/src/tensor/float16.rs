//! The element type f16.

use super::half_precision::float_of_16_bits;

/// An IEEE half: 5 exponent bits and 10 fraction bits. The largest number is 65,504, and the smallest positive normal
/// number is 2^-14.
///
/// Tensors store it like [`bf16`](crate::bf16), but arithmetic is done in f32. The feature `half` adds conversions to
/// and from the type `f16` of the crate `half`.
///
/// ```
/// use hpmoe_kernels::f16;
///
/// let third = f16::from_f32(1.0 / 3.0);
/// assert_eq!(third.to_f32(), 0.333_251_95);
/// assert_eq!([65_519.0, 65_520.0].map(|x| f16::from_f32(x).to_f32()), [65_504.0, f32::INFINITY]);
/// ```
#[expect(non_camel_case_types, reason = "spelled like the primitive types f32 and i8")]
#[derive(Clone, Copy, Default)]
#[repr(transparent)]
pub struct f16(u16);

float_of_16_bits!(f16);

impl f16 {
    /// Rounds to nearest, ties to even. Numbers of magnitude 65,520 or more become infinite. Results of magnitude below
    /// 2^-14 are subnormal or zero, and zero keeps the number's sign. A NaN stays NaN: it becomes quiet, with the upper
    /// bits of its payload.
    #[must_use]
    #[inline]
    pub const fn from_f32(value: f32) -> Self {
        let sign = (value.to_bits() >> 16) as u16 & SIGN;
        let magnitude = value.to_bits() & 0x7fff_ffff;
        if value.is_nan() {
            return Self(sign | INFINITY | QUIET | ((magnitude >> 13) as u16 & FRACTION));
        }
        if magnitude >= TOO_LARGE {
            return Self(sign | INFINITY);
        }
        if magnitude < LEAST_NORMAL {
            // The last place of f32 at one half is that of subnormal halves, so that the sum rounds as they do.
            let aligned = f32::from_bits(magnitude) + 0.5;
            return Self(sign | (aligned.to_bits() - 0.5f32.to_bits()) as u16);
        }
        // Half a unit in the last place, less one where a tie goes down.
        let half = 0xfff + ((magnitude >> 13) & 1);
        Self(sign | ((magnitude - EXPONENTS + half) >> 13) as u16)
    }

    /// Widens exactly. A NaN becomes quiet.
    #[must_use]
    #[inline]
    pub const fn to_f32(self) -> f32 {
        let sign = ((self.0 & SIGN) as u32) << 16;
        let magnitude = self.0 & !SIGN;
        let widened = match magnitude {
            INFINITY => f32::INFINITY.to_bits(),
            ABOVE_INFINITY.. => f32::INFINITY.to_bits() | (((magnitude & FRACTION | QUIET) as u32) << 13),
            NORMAL.. => ((magnitude as u32) << 13) + EXPONENTS,
            _ => (magnitude as f32 * f32::from_bits((127 - 24) << 23)).to_bits(),
        };
        f32::from_bits(sign | widened)
    }
}

const SIGN: u16 = 0x8000;
const INFINITY: u16 = 0x7c00;
const ABOVE_INFINITY: u16 = INFINITY + 1;
const FRACTION: u16 = 0x03ff;
/// Bits of the smallest positive normal half.
const NORMAL: u16 = 0x0400;
/// The bit that distinguishes quiet NaNs from signalling ones.
const QUIET: u16 = 0x0200;
/// Difference between the exponent biases of f32 and of half, shifted to the exponent bits of an f32.
const EXPONENTS: u32 = (127 - 15) << 23;
/// Bits, as f32, of 65,520: halfway between the largest half and the next power of two.
const TOO_LARGE: u32 = 65_520.0f32.to_bits();
/// Bits, as f32, of 2^-14.
const LEAST_NORMAL: u32 = (127 - 14) << 23;

#[cfg(test)]
mod tests {
    use super::f16;

    #[test]
    fn rounds_to_nearest_even() {
        let round = |value: f32| f16::from_f32(value).to_bits();
        let unit = f32::EPSILON * 8192.0;
        assert_eq!(round(1.0 + unit / 2.0), 0x3c00, "a tie goes to the even neighbour below");
        assert_eq!(round(1.0 + unit * 1.5), 0x3c02, "a tie goes to the even neighbour above");
        assert_eq!([round(65_519.0), round(65_520.0), round(-1e9)], [0x7bff, 0x7c00, 0xfc00]);
        let least = f16::from_bits(1).to_f32();
        assert_eq!(least, 2.0f32.powi(-24));
        assert_eq!(
            [round(least * 1.5), round(least / 2.0), round(-least / 2.0)],
            [2, 0, 0x8000],
            "subnormals are kept"
        );
        assert_eq!(round(f32::NAN) & 0x7e00, 0x7e00);
    }
}
