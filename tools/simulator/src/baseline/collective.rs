//! The time of an all-to-all that is a separate kernel.

use super::serial::Way;
use crate::simulate::{Routing, Time};
use hpmoe_core::target::Target;

/// Bytes that one rank copies locally, and that it sends and receives over links.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Traffic {
    local: u64,
    same_package: [u64; 2],
    other_package: [u64; 2],
}

/// The rows that ranks exchange under a routing.
#[derive(Clone, Debug)]
pub(super) struct Exchanged {
    ranks: u32,
    /// Number of rows from each source to each owner, if a token has a row for each of its experts.
    rows: Vec<u32>,
    /// Number of rows from each source to each owner, if a token is sent once to each rank; empty if no operator sends like that.
    once: Vec<u32>,
}

impl Exchanged {
    /// The rows of a routing. `once` says whether some operator sends each token once to a rank.
    pub(super) fn new(routing: &Routing, once: bool) -> Self {
        let (ranks, local) = (routing.ranks(), routing.local_experts() as usize);
        let pairs = (0..ranks).flat_map(|source| (0..ranks).map(move |owner| (source, owner)));
        let of_source = |source: u32| {
            let rows = routing.once_sent_rows(source);
            rows.chunks(local).map(|own| own.iter().sum()).collect::<Vec<u32>>()
        };
        Self {
            ranks,
            rows: pairs.map(|(source, owner)| between(routing, source, owner)).collect(),
            once: if once { (0..ranks).flat_map(of_source).collect() } else { Vec::new() },
        }
    }

    /// Number of rows that move between `source`, the rank of their tokens, and `owner`, the rank of their experts.
    fn between(&self, way: Way, source: u32, owner: u32) -> u32 {
        let rows = if way == Way::OutOnce { &self.once } else { &self.rows };
        rows[(source * self.ranks + owner) as usize]
    }

    /// Number of rows that a rank sends if each token is sent once to each rank.
    pub(super) fn sent_once(&self, rank: u32) -> u32 {
        (0..self.ranks).map(|owner| self.between(Way::OutOnce, rank, owner)).sum()
    }
}

/// The time until all rows of a rank have left and all rows for it have arrived: the time of its busiest link, at the share of the
/// bandwidth that a collective reaches. Rows that stay on the rank are copied meanwhile.
pub(super) fn collective(way: Way, row: u64, rank: u32, exchanged: &Exchanged, target: &Target) -> Time {
    let traffic = traffic(way, row, rank, exchanged, target);
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

/// Number of rows from `source` to all experts of `owner`.
pub(super) fn between(routing: &Routing, source: u32, owner: u32) -> u32 {
    let local = routing.local_experts();
    (owner * local..(owner + 1) * local).map(|expert| routing.rows(source, expert)).sum()
}

fn traffic(way: Way, row: u64, rank: u32, exchanged: &Exchanged, target: &Target) -> Traffic {
    let mut traffic = Traffic::default();
    for peer in 0..exchanged.ranks {
        let there = row * u64::from(exchanged.between(way, rank, peer));
        let back = row * u64::from(exchanged.between(way, peer, rank));
        let [out, into] = if way == Way::Back { [back, there] } else { [there, back] };
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
    use super::{Exchanged, Way, collective};
    use crate::baseline::LayerShape;
    use crate::simulate::Routing;
    use hpmoe_core::target::Target;

    #[test]
    fn the_busiest_link_decides() {
        let (target, shape) = (Target::ascend_a3(), LayerShape::deepseek_v3(8));
        // Six of eight ranks lie in other packages: 24,576 rows of 14,336 bytes at 0.7649 of 196 GB/s.
        let time = collective(Way::Out, 14_336, 3, &Exchanged::new(&shape.balanced(), false), &target);
        let seconds = 24_576.0 * 14_336.0 / (0.7649 * 196e9);
        assert!((time.us() - (seconds * 1e6 + 0.929)).abs() < 0.01, "{time}");
    }

    #[test]
    fn results_go_the_way_back() {
        let target = Target::ascend_a3();
        // Only rank 0 has rows, all for rank 2.
        let mut rows = vec![vec![0; 32]; 4];
        rows[0][17] = 1000;
        let rows = Exchanged::new(&Routing::new(&rows, 1).unwrap(), false);
        let time = |way, rank| collective(way, 14_336, rank, &rows, &target);
        for way in [Way::Out, Way::Back] {
            assert_eq!(time(way, 0), time(way, 2));
            assert!(time(way, 0).us() > 90.0 && time(way, 1).us() < 1.0);
        }
    }

    #[test]
    fn a_token_that_is_sent_once_travels_once() {
        let target = Target::ascend_a3();
        // 4,000 tokens of rank 0, each for both experts of rank 2.
        let ids = [vec![vec![4, 5]; 4000], Vec::new(), Vec::new(), Vec::new()];
        let rows = Exchanged::new(&Routing::from_top_k(&ids, 8).unwrap(), true);
        assert_eq!((rows.sent_once(0), rows.sent_once(2)), (4000, 0));
        let [once, twice] = [Way::OutOnce, Way::Out].map(|way| collective(way, 14_336, 0, &rows, &target).us());
        assert!((twice / once - 2.0).abs() < 0.01, "{twice} {once}");
    }
}
