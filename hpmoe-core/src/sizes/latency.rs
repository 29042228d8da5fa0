//! The estimated latency that sizes are chosen by.

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
}
