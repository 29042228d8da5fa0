//! How long an all-to-all of its own takes.

use super::{Operator, Rows, Shape};
use crate::simulate::Time;
use crate::target::Target;

/// Bytes through each link of one rank.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Traffic {
    local: u64,
    same_package: [u64; 2],
    other_package: [u64; 2],
}

/// Until all rows of one rank have left and all its own have come. The busiest of its links tells, at the share of its
/// bandwidth that a collective reaches; rows that stay are copied meanwhile.
pub(super) fn collective(operator: Operator, rank: u32, shape: &Shape, rows: &Rows, target: &Target) -> Time {
    let traffic = traffic(operator, rank, shape, rows, target);
    let seconds = |bytes: u64, gb_per_s: f64| {
        #[expect(clippy::cast_precision_loss, reason = "below 2^53")]
        let bytes = bytes as f64;
        bytes / (gb_per_s * 1e9)
    };
    let link = &target.link;
    let efficiency = target.fitted.collective_efficiency;
    let same = traffic.same_package.map(|bytes| seconds(bytes, link.same_package_gb_per_s * efficiency));
    let other = traffic.other_package.map(|bytes| seconds(bytes, link.other_package_gb_per_s * efficiency));
    let local = seconds(2 * traffic.local, target.memory.hbm_gb_per_s);
    let slowest = same.into_iter().chain(other).fold(local, f64::max);
    Time::from_ns(slowest * 1e9 + link.other_package_ns)
}

fn traffic(operator: Operator, rank: u32, shape: &Shape, rows: &Rows, target: &Target) -> Traffic {
    let row = u64::from(operator.row_bytes(shape));
    let mut traffic = Traffic::default();
    for peer in 0..shape.ranks {
        let there = row * u64::from(rows.between(rank, peer));
        let back = row * u64::from(rows.between(peer, rank));
        let [out, into] = if operator == Operator::Dispatch { [there, back] } else { [back, there] };
        if peer == rank {
            traffic.local = out;
            continue;
        }
        let link = if target.same_package(rank, peer) { &mut traffic.same_package } else { &mut traffic.other_package };
        link[0] += out;
        link[1] += into;
    }
    traffic
}
