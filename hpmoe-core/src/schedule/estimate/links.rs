//! The links from a rank to its peers.

use super::Time;
use crate::graph::TaskGraph;
use crate::ids::{Arena, PhaseId};
use crate::schedule::Order;
use crate::schedule::typical::OWN;
use crate::target::Target;

/// Picoseconds in which the bytes through a link are counted together: about as long as a put takes to start and to fence.
const SLOT: u64 = 2_000_000;
/// The minimum number of bytes that a link takes in a slot. Slots of slow links are longer, so that no put needs many of them.
const BYTES_OF_SLOT: f64 = 16_384.0;

/// The links from a rank to the other dies of its package, and to other packages.
///
/// Parts are replayed one after another, each as far as it can go, so a put that is replayed later can begin earlier. Each link therefore
/// knows how many bytes pass through it in each slot of time, and a put takes what earlier replayed ones leave.
pub(super) struct Links {
    same_package: Link,
    other_package: Link,
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
            same_package: Link::new(target.link.same_package_gb_per_s),
            other_package: Link::new(target.link.other_package_gb_per_s),
            dies_per_package: target.link.dies_per_package,
            put: target.link.put_gb_per_s_per_aiv / 1e3,
            sharing: graph.phases.ids().map(sharing).collect(),
        }
    }

    /// Begins a put of a phase, of `bytes` bytes to `peer`, at `begun`; returns the time at which its bytes have left.
    pub(super) fn put(&mut self, phase: PhaseId, (peer, bytes): (u32, u64), begun: Time) -> Time {
        let same_package = peer / self.dies_per_package == OWN / self.dies_per_package;
        let link = if same_package { &mut self.same_package } else { &mut self.other_package };
        let most = self.put.min(link.bytes_per_ps / f64::from(self.sharing[phase].max(1)));
        link.put(bytes as f64, begun, most)
    }

    /// The time that all bytes put so far need on the links.
    pub(super) fn least(&self) -> Time {
        self.same_package.least().max(self.other_package.least())
    }
}

/// The bytes that puts have taken of a link.
struct Link {
    bytes_per_ps: f64,
    /// The bytes in each slot.
    taken: Vec<f64>,
    /// The first slot that has room.
    open: usize,
    bytes: f64,
    /// Picoseconds of a slot.
    slot: u64,
}

impl Link {
    fn new(gb_per_s: f64) -> Self {
        let slot = SLOT.max((BYTES_OF_SLOT * 1e3 / gb_per_s) as u64);
        Self { bytes_per_ps: gb_per_s / 1e3, taken: Vec::new(), open: 0, bytes: 0.0, slot }
    }

    /// Puts `bytes` bytes through the link from `begun` on, at a rate of at most `most` bytes per picosecond, and returns the time at which they
    /// have left. Slots that earlier puts have filled are skipped.
    fn put(&mut self, bytes: f64, begun: Time, most: f64) -> Time {
        self.bytes += bytes;
        let capacity = self.bytes_per_ps * self.slot as f64;
        let mut left = bytes;
        let mut at = begun.0.max(self.open as u64 * self.slot);
        loop {
            let slot = (at / self.slot) as usize;
            if slot >= self.taken.len() {
                self.taken.resize(2 * slot + 1, 0.0);
            }
            let until = (slot as u64 + 1) * self.slot;
            let span = (until - at) as f64;
            let rate = most.min((capacity - self.taken[slot]) / span).max(0.0);
            if left <= rate * span {
                self.taken[slot] += left;
                return Time(at + (left / rate.max(f64::MIN_POSITIVE)).ceil() as u64);
            }
            self.taken[slot] += rate * span;
            left -= rate * span;
            at = until;
            while self.taken.get(self.open).is_some_and(|&taken| taken >= capacity * (1.0 - 1e-9)) {
                self.open += 1;
            }
        }
    }

    fn least(&self) -> Time {
        Time((self.bytes / self.bytes_per_ps) as u64)
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
        let least = (bytes * puts) as f64 / links.other_package.bytes_per_ps;
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
