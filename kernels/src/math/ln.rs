//! The natural logarithm.

/// The smallest normal number.
const TINY: f32 = f32::MIN_POSITIVE;
/// Bits of √(1/2), the least mantissa.
const ROOT_OF_HALF: u32 = 0x3f35_04f3;
/// (ln(1 + f) - f + f²/2) / f³ for 1 + f between √(1/2) and √2, highest power first.
#[expect(clippy::excessive_precision, reason = "the documented digits")]
const POLYNOMIAL: [f32; 9] = [
    7.037_683_629_2e-2,
    -1.151_461_031_0e-1,
    1.167_699_874_0e-1,
    -1.242_014_084_6e-1,
    1.424_932_278_7e-1,
    -1.666_805_766_5e-1,
    2.000_071_476_5e-1,
    -2.499_999_399_3e-1,
    3.333_333_117_4e-1,
];

/// The natural logarithm of x, within 2 units in the last place, or 1e-7 next to 1.
///
/// ```text
/// ±0 → -∞;   x < 0 → NaN;   +∞ and NaN stay;   subnormal numbers are multiplied by 2^24 first
/// x = m · 2^e  with m from √(1/2) to √2;   f = m - 1;   z = f · f
/// p = 7.0376836292e-2;  p = p · f + c  for c = -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1,
///                                          -1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1
/// y = f · z · p;  y = y + e · -2.12194440e-4;  y = y - 0.5 · z
/// result = f + y + e · 0.693359375
/// ```
///
/// ```
/// use hpmoe_kernels::math::ln;
///
/// assert_eq!(ln(1.0), 0.0);
/// assert_eq!(ln(0.0), f32::NEG_INFINITY);
/// assert!((ln(10.0) - std::f32::consts::LN_10).abs() <= 3e-7);
/// ```
#[must_use]
#[inline]
pub fn ln(x: f32) -> f32 {
    if x.is_nan() {
        return x + x;
    }
    if x < 0.0 {
        return f32::NAN;
    }
    if x == 0.0 {
        return f32::NEG_INFINITY;
    }
    if x == f32::INFINITY {
        return x;
    }
    let tiny = x < TINY;
    let bits = if tiny { x * 16_777_216.0 } else { x }.to_bits();
    let exponent = (bits.wrapping_sub(ROOT_OF_HALF) as i32) >> 23;
    let f = f32::from_bits(bits.wrapping_sub((exponent as u32) << 23)) - 1.0;
    let e = (if tiny { exponent - 24 } else { exponent }) as f32;
    let z = f * f;
    let mut p = POLYNOMIAL[0];
    for c in &POLYNOMIAL[1..] {
        p = p * f + c;
    }
    let y = f * z * p;
    let y = y + e * super::LN_2[1];
    let y = y - 0.5 * z;
    f + y + e * super::LN_2[0]
}

#[cfg(test)]
mod tests {
    use super::super::checksum_inputs;
    use super::ln;

    #[test]
    fn is_close() {
        for x in checksum_inputs().filter(|x| *x > 0.0 && x.is_finite()) {
            let exact = f64::from(x).ln();
            let error = (f64::from(ln(x)) - exact).abs();
            assert!(error <= 2e-7 * exact.abs() + 1e-7, "ln({x:e}) is off by {error:e}");
        }
    }
}
