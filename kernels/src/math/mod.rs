//! Functions that the host computes with one documented algorithm each, so that Rust and C++ give the same bits.
//!
//! Only additions, subtractions and multiplications of f32, each rounded once, and exact steps such as `floor` are used; nothing
//! is fused. The C++ twins are in the AscendC implementation for CPUs; the test of all operations compares them. NaN results
//! agree in being NaN, not in their payload.

mod ln;

pub use ln::ln;

/// Above this, [`exp`] is infinite.
const EXP_HIGH: f32 = f32::from_bits(0x42b1_7218);
/// Below this, [`exp`] is zero.
const EXP_LOW: f32 = f32::from_bits(0xc2cf_f1b5);
/// log2(e), which turns exponents of e into exponents of 2.
const LOG2_E: f32 = std::f32::consts::LOG2_E;
/// ln(2) in two parts; the first has few bits, so that its product with a small integer is exact.
#[expect(clippy::excessive_precision, reason = "exact: nine significant bits")]
const LN_2: [f32; 2] = [0.693_359_375, f32::from_bits(0xb95e_8083)];
/// (e^r - 1 - r) / r² for |r| ≤ ln(2)/2, highest power first.
#[expect(clippy::excessive_precision, reason = "the documented digits")]
const POLYNOMIAL: [f32; 6] = [
    1.987_569_150_0e-4,
    1.398_199_950_7e-3,
    8.333_451_907_3e-3,
    4.166_579_589_4e-2,
    1.666_666_545_9e-1,
    5.000_000_120_1e-1,
];

/// e to the power of x, within 2 units in the last place of normal results.
///
/// ```text
/// x is NaN → x + x;   x > 88.72284 → ∞;   x < -103.972084 → 0
/// n = floor(x · 1.44269504 + 0.5)
/// r = (x - n · 0.693359375) - n · -2.12194440e-4
/// p = 1.9875691500e-4;  p = p · r + c  for c = 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2,
///                                             1.6666665459e-1, 5.0000001201e-1
/// y = (p · (r · r) + r) + 1
/// result = (y · 2^a) · 2^(n - a)  with a = n / 2, rounded towards zero
/// ```
///
/// ```
/// use hpmoe_kernels::math::exp;
///
/// assert_eq!(exp(0.0), 1.0);
/// assert_eq!(exp(f32::NEG_INFINITY), 0.0);
/// assert!((exp(1.0) - std::f32::consts::E).abs() <= f32::EPSILON * 2.0);
/// ```
#[must_use]
#[inline]
pub fn exp(x: f32) -> f32 {
    if x.is_nan() {
        return x + x;
    }
    if x > EXP_HIGH {
        return f32::INFINITY;
    }
    if x < EXP_LOW {
        return 0.0;
    }
    let n = (x * LOG2_E + 0.5).floor();
    let r = x - n * LN_2[0];
    let r = r - n * LN_2[1];
    let mut p = POLYNOMIAL[0];
    for c in &POLYNOMIAL[1..] {
        p = p * r + c;
    }
    let y = p * (r * r) + r + 1.0;
    // -150 <= n <= 128: an exact integer.
    let n = n as i32;
    let half = n / 2;
    y * power_of_two(half) * power_of_two(n - half)
}

/// 2^n for a normal result, from its exponent bits.
fn power_of_two(n: i32) -> f32 {
    f32::from_bits(((n + 127) as u32) << 23)
}

/// The [`checksum`] of [`exp`].
pub const EXP_CHECKSUM: u64 = 0xe130_ec8e_8ba0_f300;

/// A hash of a function's results for [`checksum_inputs`], bit by bit: FNV-1a with one step per result, over the 32 bits of
/// the result. Every NaN counts as `0x7fc00000`. Tests compare the hash with that of the function's C++ twin.
#[must_use]
pub fn checksum(function: impl Fn(f32) -> f32) -> u64 {
    checksum_inputs().fold(0xcbf2_9ce4_8422_2325, |hash, x| {
        let y = function(x);
        let bits = if y.is_nan() { 0x7fc0_0000 } else { y.to_bits() };
        (hash ^ u64::from(bits)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// 65,536 floats that cover all signs and exponents, zeros, subnormals, infinities and NaNs, followed by the limits of
/// [`exp`] and their neighbours. Input i has the bits `(i << 16) | ((i * 40503) & 0xffff)` for i < 65536; then follow
/// `0x42b17217`, `0x42b17218`, `0x42b17219`, `0xc2cff1b4`, `0xc2cff1b5`, `0xc2cff1b6`.
pub fn checksum_inputs() -> impl Iterator<Item = f32> {
    let spread = (0..=0xffff_u32).map(|i| (i << 16) | (i.wrapping_mul(40_503) & 0xffff));
    let ends = [EXP_HIGH, EXP_LOW].map(f32::to_bits);
    spread.chain(ends.into_iter().flat_map(|end| end - 1..=end + 1)).map(f32::from_bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_are_the_documented_ones() {
        assert_eq!(LOG2_E.to_bits(), 0x3fb8_aa3b);
        assert_eq!(LN_2[1], -2.121_944_40e-4_f64 as f32);
        assert_eq!(EXP_HIGH, 88.722_84);
        assert_eq!(EXP_LOW, -103.972_084);
    }

    #[test]
    fn exp_is_close_where_results_are_normal() {
        for x in checksum_inputs().filter(|x| (-87.3..=88.722).contains(x)) {
            let exact = f64::from(x).exp();
            let error = (f64::from(exp(x)) - exact).abs() / exact;
            assert!(error <= 2.0 * f64::from(f32::EPSILON), "exp({x}) is off by {error:e}");
        }
    }

    #[test]
    fn exp_at_the_ends() {
        let table: [(f32, u32); 10] = [
            (0.0, 0x3f80_0000),
            (-0.0, 0x3f80_0000),
            (f32::INFINITY, 0x7f80_0000),
            (f32::NEG_INFINITY, 0),
            (f32::MAX, 0x7f80_0000),
            (f32::MIN, 0),
            (f32::from_bits(1), 0x3f80_0000),
            (f32::from_bits(0x42b1_7219), 0x7f80_0000),
            (f32::from_bits(0xc2cf_f1b6), 0),
            (-100.0, 0x1b),
        ];
        for (x, bits) in table {
            assert_eq!(exp(x).to_bits(), bits, "exp({x:e}) = {:e}", exp(x));
        }
        assert!(exp(f32::NAN).is_nan());
        assert!(exp(88.722).is_finite());
    }

    #[test]
    fn exp_keeps_its_bits() {
        assert_eq!(checksum(exp), EXP_CHECKSUM, "the number is now {:#018x}", checksum(exp));
    }
}
