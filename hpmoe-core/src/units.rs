//! Units as types: adding bytes to cycles does not compile. Users choose sizes, so sums and products saturate at the largest 64-bit number,
//! which exceeds every limit.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Mul, Sub};

macro_rules! unit {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
        pub struct $name(pub u64);
        impl Add for $name { type Output = Self; fn add(self, other: Self) -> Self { Self(self.0.saturating_add(other.0)) } }
        impl Sub for $name { type Output = Self; fn sub(self, other: Self) -> Self { Self(self.0 - other.0) } }
        impl AddAssign for $name { fn add_assign(&mut self, other: Self) { *self = *self + other; } }
        impl Mul<u64> for $name { type Output = Self; fn mul(self, times: u64) -> Self { Self(self.0.saturating_mul(times)) } }
        impl Sum for $name { fn sum<It: Iterator<Item = Self>>(iter: It) -> Self { iter.fold(Self(0), |sum, x| sum + x) } }
    };
}

unit!(
    /// A size or an offset in bytes.
    Bytes
);
unit!(
    /// A number of cycles of a core's clock.
    Cycles
);
unit!(
    /// A modelled time or duration in nanoseconds.
    Nanos
);

impl Bytes {
    /// A size of `n` KiB.
    #[must_use]
    pub const fn kib(n: u64) -> Self {
        Self(n * 1024)
    }
    /// The smallest multiple of `alignment` bytes that is at least this size.
    #[must_use]
    pub const fn align_up(self, alignment: u64) -> Self {
        Self(self.0.div_ceil(alignment).saturating_mul(alignment))
    }
}

impl fmt::Display for Bytes {
    /// Formats the digits in groups of three, as in `196,608 B`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.0.to_string();
        for (position, digit) in digits.chars().enumerate() {
            if position > 0 && (digits.len() - position) % 3 == 0 {
                f.write_str(",")?;
            }
            write!(f, "{digit}")?;
        }
        f.write_str(" B")
    }
}

#[cfg(test)]
mod tests {
    use super::Bytes;

    #[test]
    fn bytes_print_in_groups_of_three() {
        assert_eq!(Bytes(7).to_string(), "7 B");
        assert_eq!(Bytes::kib(192).to_string(), "196,608 B");
        assert_eq!(Bytes(1_234_567).to_string(), "1,234,567 B");
    }
}
