//! The time of an all-to-all that is a kernel of its own.

use super::{LayerShape, Operator};
use crate::simulate::{Routing, Time};
use hpmoe_core::target::Target;

/// Bytes through the links of one rank, out and in.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Traffic {
    local: u64,
    same_package: [u64; 2],
    other_package: [u64; 2],
}

/// The time until all rows of a rank have left and all rows for it have arrived: that of its busiest link, at the share of the
/// bandwidth that a collective reaches. Rows that stay on the rank are copied meanwhile.
pub(super) fn collective(
    operator: Operator,
    rank: u32,
    shape: &LayerShape,
    routing: &Routing,
    target: &Target,
) -> Time {
    let traffic = traffic(operator, rank, shape, routing, target);
    let seconds = |bytes: u64, gb_per_s: f64| {
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

/// Rows from a rank to all experts of another.
pub(super) fn between(routing: &Routing, source: u32, owner: u32) -> u32 {
    let local = routing.local_experts();
    (owner * local..(owner + 1) * local).map(|expert| routing.rows(source, expert)).sum()
}

fn traffic(operator: Operator, rank: u32, shape: &LayerShape, routing: &Routing, target: &Target) -> Traffic {
    let row = u64::from(operator.row_bytes(shape));
    let mut traffic = Traffic::default();
    for peer in 0..shape.ranks {
        let there = row * u64::from(between(routing, rank, peer));
        let back = row * u64::from(between(routing, peer, rank));
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

#[cfg(test)]
mod tests {
    use super::collective;
    use crate::baseline::{LayerShape, Operator};
    use crate::simulate::Routing;
    use hpmoe_core::target::Target;

    #[test]
    fn the_busiest_link_decides() {
        let (target, shape) = (Target::ascend_a3(), LayerShape::deepseek_v3(8));
        // Six of eight ranks lie in other packages: 24,576 rows of 14,336 bytes at 0.7649 of 196 GB/s.
        let time = collective(Operator::Dispatch, 3, &shape, &shape.balanced(), &target);
        let seconds = 24_576.0 * 14_336.0 / (0.7649 * 196e9);
        assert!((time.us() - (seconds * 1e6 + 0.929)).abs() < 0.01, "{time}");
    }

    #[test]
    fn results_go_the_way_back() {
        let (target, shape) = (Target::ascend_a3(), LayerShape::deepseek_v3(4));
        // Only rank 0 has rows, all for rank 2.
        let mut rows = vec![vec![0; 32]; 4];
        rows[0][17] = 1000;
        let rows = Routing::new(&rows, 1).unwrap();
        let time = |operator, rank| collective(operator, rank, &shape, &rows, &target);
        for operator in [Operator::Dispatch, Operator::Combine] {
            assert_eq!(time(operator, 0), time(operator, 2));
            assert!(time(operator, 0).us() > 90.0 && time(operator, 1).us() < 1.0);
        }
    }
}
