//! The links from a rank to its peers.

use super::Time;
use super::bandwidth::Bandwidth;
use crate::graph::TaskGraph;
use crate::ids::{Arena, PhaseId};
use crate::schedule::Order;
use crate::schedule::typical::OWN;
use crate::target::Target;

/// Picoseconds in which the bytes through a link are counted together: about as long as a put takes to start and to fence.
const SLOT: u64 = 2_000_000;

/// The links from a rank to the other dies of its package, and to other packages.
///
/// A put takes what earlier replayed ones leave of its link.
pub(super) struct Links {
    same_package: Bandwidth,
    other_package: Bandwidth,
    dies_per_package: u32,
    /// Bytes per picosecond that one core puts at most.
    put: f64,
    /// The number of cores of all parts with entries of a phase. They put at the same time and wait for their fences at the same time, so each
    /// of them has an equal share of a link.
    sharing: Arena<PhaseId, u32>,
}

impl Links {
    pub(super) fn new(graph: &TaskGraph, order: &Order, target: &Target) -> Self {
        let sharing = |phase: PhaseId| {
            let parts = order.queues.iter().filter(|(_, queue)| queue.iter().any(|entry| entry.phase == phase));
            parts.map(|(part, _)| order.parts[part].count).sum()
        };
        Self {
            same_package: Bandwidth::new(target.link.same_package_gb_per_s, SLOT),
            other_package: Bandwidth::new(target.link.other_package_gb_per_s, SLOT),
            dies_per_package: target.link.dies_per_package,
            put: target.link.put_gb_per_s_per_aiv / 1e3,
            sharing: graph.phases.ids().map(sharing).collect(),
        }
    }

    /// Begins a put of a phase, of `bytes` bytes to `peer`, at `begun`; returns the time at which its bytes have left.
    pub(super) fn put(&mut self, phase: PhaseId, (peer, bytes): (u32, u64), begun: Time) -> Time {
        let same_package = peer / self.dies_per_package == OWN / self.dies_per_package;
        let link = if same_package { &mut self.same_package } else { &mut self.other_package };
        let most = self.put.min(link.bytes_per_ps() / f64::from(self.sharing[phase].max(1)));
        link.take(bytes as f64, begun, most)
    }

    /// The time that all bytes put so far need on the links.
    pub(super) fn least(&self) -> Time {
        self.same_package.least().max(self.other_package.least())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Layer, moe_backward};
    use crate::schedule::{Choices, schedule_with};

    /// The links of a rank with six sending cores, and the bytes that one core puts in a slot.
    fn links() -> (Links, f64) {
        let (layer, target) = (moe_backward(&Layer { put: 8, ..Layer::DEEPSEEK }), Target::ascend_a3());
        let schedule = schedule_with(&layer, &target, &Choices::read("put_cores=6").unwrap());
        let links = Links::new(layer.graph(), schedule.order(8).unwrap(), &target);
        (links, target.link.put_gb_per_s_per_aiv / 1e3 * SLOT as f64)
    }

    #[test]
    fn a_put_that_is_replayed_later_begins_when_it_is_ready() {
        let (mut links, of_slot) = links();
        let bytes = (3.0 * of_slot) as u64;
        let mut put = |peer: u32, begun: u64| links.put(PhaseId(0), (peer, bytes), Time(begun * SLOT)).0 / SLOT;
        assert_eq!([put(2, 100), put(3, 0), put(1, 50)], [103, 3, 53]);
    }

    #[test]
    fn puts_take_no_more_than_the_link_has() {
        let (mut links, of_slot) = links();
        let bytes = (10.0 * of_slot) as u64;
        let puts = 200;
        let ends: Vec<u64> = (0..puts).map(|_| links.put(PhaseId(0), (4, bytes), Time(0)).0).collect();
        assert!(ends.is_sorted());
        let least = (bytes * puts) as f64 / links.other_package.bytes_per_ps();
        let last = ends[puts as usize - 1] as f64;
        // At the end, few cores put, and don't fill the link.
        assert!((least..least + 10.0 * SLOT as f64).contains(&last), "{ends:?}, at least {least}");
        assert!((links.least().0 as f64 / least - 1.0).abs() < 0.01);
        // The other link is free.
        assert_eq!(links.put(PhaseId(0), (1, bytes), Time(0)).0 / SLOT, 10);
    }

    #[test]
    fn cores_that_put_at_the_same_time_have_equal_shares_of_the_link() {
        let (layer, target) = (moe_backward(&Layer { put: 8, ..Layer::DEEPSEEK }), Target::ascend_a3());
        let schedule = schedule_with(&layer, &target, &Choices::read("put_cores=32").unwrap());
        let mut links = Links::new(layer.graph(), schedule.order(8).unwrap(), &target);
        let bytes = 1 << 20;
        let end = links.put(PhaseId(0), (2, bytes), Time(0)).0 as f64;
        let share = target.link.other_package_gb_per_s / 1e3 / 32.0;
        assert!((end * share / bytes as f64 - 1.0).abs() < 1e-3, "{end}");
    }
}
