//! Number formats of 4 and 8 bits, as tables for [`look_up`](crate::Tile::look_up). Each table lists the number of every
//! code, exact in f32.
//!
//! | format | codes | source |
//! |---|---|---|
//! | E2M1, E8M0 | MXFP4: elements, and a power of two per 32 elements | OCP Microscaling Formats 1.0 |
//! | E4M3, E5M2 | fp8 | OCP 8-bit Floating Point 1.0 |
//! | S1P2, E6M2 | HiFloat4: elements, and a scale per 64 elements | arXiv 2602.11287, section II |

/// Table of MXFP4 elements: one sign bit, 2 exponent bits, 1 fraction bit.
#[must_use]
pub fn e2m1() -> [f32; 16] {
    std::array::from_fn(|code| minifloat(code, 2, 1, 1))
}

/// Table of powers of two: code c stands for 2^(c - 127), and code 255 for NaN.
#[must_use]
pub fn e8m0() -> [f32; 256] {
    std::array::from_fn(|code| if code == 255 { f32::NAN } else { power(code as i32 - 127) })
}

/// Table of fp8 without infinities: 4 exponent bits, 3 fraction bits. The largest number is 448; codes 127 and 255 are NaN.
#[must_use]
pub fn e4m3() -> [f32; 256] {
    std::array::from_fn(|code| if code & 127 == 127 { f32::NAN } else { minifloat(code, 4, 3, 7) })
}

/// Table of fp8 with infinities and NaN as in IEEE 754: 5 exponent bits, 2 fraction bits.
#[must_use]
pub fn e5m2() -> [f32; 256] {
    let special = |code: usize| match (code & 127, code > 127) {
        (0x7c, false) => Some(f32::INFINITY),
        (0x7c, true) => Some(f32::NEG_INFINITY),
        (0x7d.., _) => Some(f32::NAN),
        _ => None,
    };
    std::array::from_fn(|code| special(code).unwrap_or_else(|| minifloat(code, 5, 2, 15)))
}

/// Table of HiFloat4 elements: a sign and a multiple of 1/4 from 0 to 1.75.
#[must_use]
pub fn s1p2() -> [f32; 16] {
    std::array::from_fn(|code| signed((code & 7) as f32 / 4.0, code > 7))
}

/// Table of HiFloat4 scales, always positive: 2^(E - 48) · (1 + M / 4), where E is the upper six bits of the code and M the
/// lower two. The last code is NaN.
#[must_use]
pub fn e6m2() -> [f32; 256] {
    let number = |code: usize| power((code >> 2) as i32 - 48) * (1.0 + (code & 3) as f32 / 4.0);
    std::array::from_fn(|code| if code == 255 { f32::NAN } else { number(code) })
}

/// The number of a code: a sign, then exponent bits with this bias, then fraction bits. Subnormal numbers are included.
fn minifloat(code: usize, exponent_bits: u32, fraction_bits: u32, bias: i32) -> f32 {
    let fraction = (code & ((1 << fraction_bits) - 1)) as f32 / (1 << fraction_bits) as f32;
    let exponent = (code >> fraction_bits & ((1 << exponent_bits) - 1)) as i32;
    let magnitude = match exponent {
        0 => fraction * power(1 - bias),
        _ => (1.0 + fraction) * power(exponent - bias),
    };
    signed(magnitude, code >> (exponent_bits + fraction_bits) == 1)
}

fn signed(magnitude: f32, negative: bool) -> f32 {
    if negative { -magnitude } else { magnitude }
}

/// 2^exponent, exact from 2^-149 on.
fn power(exponent: i32) -> f32 {
    match exponent {
        -126.. => f32::from_bits(((exponent + 127) as u32) << 23),
        _ => f32::from_bits(1 << (exponent + 149)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_numbers() {
        assert_eq!(e2m1()[..8], [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]);
        assert_eq!((e2m1()[8].to_bits(), e2m1()[15]), ((-0.0f32).to_bits(), -6.0));
        assert_eq!((e8m0()[127], e8m0()[0].log2(), e8m0()[254].log2()), (1.0, -127.0, 127.0));
        assert_eq!((e4m3()[0x7e], e4m3()[1], e4m3()[0x08], e4m3()[0xfe]), (448.0, 0.001_953_125, 0.015_625, -448.0));
        assert!([0x7f, 0xff].iter().all(|code: &usize| e4m3()[*code].is_nan()) && e8m0()[255].is_nan());
        assert_eq!((e5m2()[0x7b], e5m2()[1].log2(), e5m2()[0x04].log2()), (57344.0, -16.0, -14.0));
        assert_eq!((e5m2()[0x7c], e5m2()[0xfc]), (f32::INFINITY, f32::NEG_INFINITY));
        assert_eq!(e5m2().iter().filter(|x| x.is_nan()).count(), 6);
        assert_eq!((s1p2()[7], s1p2()[15], s1p2()[1]), (1.75, -1.75, 0.25));
        assert_eq!((e6m2()[0].log2(), e6m2()[0xfe], e6m2()[0xc0]), (-48.0, 49152.0, 1.0));
        assert!(e6m2()[255].is_nan());
    }
}
