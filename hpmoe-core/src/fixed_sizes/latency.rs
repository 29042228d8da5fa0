//! The estimated latency of a kernel's taskflows.

use crate::analyze::CheckedGraph;
use crate::schedule::{Estimate, busy, estimate};
use crate::sizes::Expected;
use crate::target::Target;

/// If cores are busy for more than this many times the latency with other sizes, queues are not replayed, which could take seconds.
const CLEARLY: f64 = 1.5;

/// An estimated latency in microseconds: the geometric mean of the latencies with even and with uneven tokens, as in the choice of
/// open sizes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Latency {
    /// The latency according to a replay of the queues.
    Replayed(f64),
    /// A lower bound: the time for which cores are busy.
    Busy(f64),
}

impl Latency {
    pub(super) const fn us(self) -> f64 {
        match self {
            Self::Replayed(us) | Self::Busy(us) => us,
        }
    }
}

/// The estimated latency of `flows` divided by that of `others`: the taskflows of one kernel with two sets of tile sizes. If the ratio is
/// above 1.5, it may be a lower bound. `None` if the kernel can't have the expected launches.
#[must_use]
pub fn times_as_long(
    flows: &[CheckedGraph],
    others: &[CheckedGraph],
    target: &Target,
    expected: Expected,
) -> Option<f64> {
    let others = latency(others, target, expected)?;
    Some(quick_latency(flows, target, expected, &others)?.us() / others.us())
}

/// The latency according to a replay of the queues.
pub(super) fn latency(flows: &[CheckedGraph], target: &Target, expected: Expected) -> Option<Latency> {
    sum(flows, expected, |flow, ranks| estimate(flow, target, ranks, |_| true)).map(Latency::Replayed)
}

/// The latency according to a replay, or only the time for which cores are busy if that is clearly longer than the latency with other
/// sizes.
pub(super) fn quick_latency(
    flows: &[CheckedGraph],
    target: &Target,
    expected: Expected,
    others: &Latency,
) -> Option<Latency> {
    let least = sum(flows, expected, |flow, ranks| busy(flow, target, ranks))?;
    if least > CLEARLY * others.us() { Some(Latency::Busy(least)) } else { latency(flows, target, expected) }
}

fn sum(
    flows: &[CheckedGraph],
    expected: Expected,
    estimate: impl Fn(&CheckedGraph, u32) -> Option<Estimate>,
) -> Option<f64> {
    let of_flow = |flow: &CheckedGraph| {
        let Estimate { even, uneven } = estimate(flow, expected.ranks_for(flow.graph().sizes.experts))?;
        Some((even.us() * uneven?.us()).sqrt())
    };
    flows.iter().map(of_flow).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launches_have_the_ranks_for_which_open_sizes_are_chosen() {
        let expected = Expected::default();
        // Any number up to nine divides this number of experts.
        assert!(expected.to_string().contains(&format!("at most {} ranks", expected.ranks_for(2520))));
    }
}
