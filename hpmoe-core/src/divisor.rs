//! Common divisors.

/// The greatest common divisor; of 0 and a number, the number.
#[must_use]
pub const fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}
