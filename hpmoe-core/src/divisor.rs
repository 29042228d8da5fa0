//! Common divisors.

/// The greatest common divisor of `a` and `b`. If one of them is 0, it is the other.
#[must_use]
pub const fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}
