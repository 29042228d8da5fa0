//! Time in the cost model and the simulator.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Mul, Sub};

/// A number of picoseconds: a moment after the beginning of a launch, or a duration.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Time(pub u64);

impl Time {
    /// The beginning of the launch, or an empty duration.
    pub const ZERO: Self = Self(0);

    /// A number of nanoseconds, rounded to picoseconds; zero if it is negative.
    #[must_use]
    pub fn from_ns(ns: f64) -> Self {
        Self((ns * 1e3).round() as u64)
    }

    /// A number of microseconds, rounded to picoseconds; zero if it is negative.
    #[must_use]
    pub fn from_us(us: f64) -> Self {
        Self((us * 1e6).round() as u64)
    }

    /// The time in microseconds.
    #[must_use]
    pub fn us(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// The time in seconds.
    #[must_use]
    pub fn seconds(self) -> f64 {
        self.0 as f64 / 1e12
    }

    /// The time since `other`; zero if `other` is later.
    #[must_use]
    pub const fn since(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Add for Time {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl Sub for Time {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl AddAssign for Time {
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl Mul<u64> for Time {
    type Output = Self;
    fn mul(self, times: u64) -> Self {
        Self(self.0 * times)
    }
}

impl Sum for Time {
    fn sum<It: Iterator<Item = Self>>(times: It) -> Self {
        Self(times.map(|time| time.0).sum())
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.2} µs", self.us())
    }
}
