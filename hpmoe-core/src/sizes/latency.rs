//! The estimated latency that sizes are chosen by.

use crate::time::Time;

/// The estimated microseconds of a taskflow, or of all those of a kernel.
///
/// Sizes should suit any routing. If all cores have the same number of tiles for one routing, some core has one more for another, and larger
/// tiles then cost more time. So uneven tokens count as much as even ones.
#[derive(Clone, Copy, Default, PartialEq)]
pub(super) struct Latency {
    pub(super) even: f64,
    /// The geometric means of the latencies with even and with uneven tokens.
    pub(super) mean: f64,
}

impl Latency {
    /// The latency of one taskflow.
    pub(super) fn new(even: Time, uneven: Time) -> Self {
        Self { even: even.us(), mean: (even.us() * uneven.us()).sqrt() }
    }

    pub(super) fn add(&mut self, other: Self) {
        self.even += other.even;
        self.mean += other.mean;
    }
}
