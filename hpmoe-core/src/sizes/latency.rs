//! The estimated latency that sizes are chosen by.

use super::ladders::Ladder;
use crate::time::Time;

/// The estimated microseconds of all taskflows of a kernel.
///
/// Sizes are to be good for any routing. Tiles that come out even for one don't for another, and the larger they are, the longer is a
/// core that has one more; so uneven tokens count as much as even ones.
#[derive(Clone, Copy, Default)]
pub(super) struct Latency {
    pub(super) even: f64,
    /// The geometric means of the latencies with even and with uneven tokens.
    pub(super) mean: f64,
}

impl Latency {
    pub(super) fn add(&mut self, even: Time, uneven: Time) {
        self.even += even.us();
        self.mean += (even.us() * uneven.us()).sqrt();
    }

    /// Whether a size of a ladder with this latency is worth it.
    pub(super) fn saves(&self, before: &Self, ladder: &Ladder) -> bool {
        self.mean < before.mean * (1.0 - ladder.gain) && ladder.even_below(before).is_none_or(|even| self.even < even)
    }
}
