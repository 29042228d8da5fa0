//! The links from a rank to ranks in other packages.

use super::Time;
use crate::graph::TaskGraph;
use crate::ids::{Arena, PartId, PhaseId};
use crate::schedule::Order;
use crate::target::Target;

/// The time at which each part's share of the links is free.
///
/// Parts are replayed one after another, each as far as it can go, so a put that is replayed later can begin earlier. Parts that put in the
/// same phase therefore have fixed shares of the links, in proportion to their cores. Puts of different phases are assumed not to overlap.
pub(super) struct Links {
    free: Arena<PartId, Time>,
    /// The number of cores of each part. `sharing` has, for each phase, the number of cores of all parts with entries of the phase.
    cores: Arena<PartId, u32>,
    sharing: Arena<PhaseId, u32>,
    bytes: f64,
    bytes_per_ps: f64,
}

impl Links {
    pub(super) fn new(graph: &TaskGraph, order: &Order, target: &Target) -> Self {
        let sharing = |phase: PhaseId| {
            let parts = order.queues.iter().filter(|(_, queue)| queue.iter().any(|entry| entry.phase == phase));
            parts.map(|(part, _)| order.parts[part].count).sum()
        };
        Self {
            free: order.parts.iter().map(|_| Time::ZERO).collect(),
            cores: order.parts.iter().map(|(_, part)| part.count).collect(),
            sharing: graph.phases.ids().map(sharing).collect(),
            bytes: 0.0,
            bytes_per_ps: target.link.other_package_gb_per_s / 1e3,
        }
    }

    /// Begins a put of `bytes` bytes at `begun`; returns the time at which its bytes have left.
    pub(super) fn put(&mut self, (part, phase): (PartId, PhaseId), bytes: u64, begun: Time) -> Time {
        let share = f64::from(self.cores[part]) / f64::from(self.sharing[phase]);
        self.bytes += bytes as f64;
        self.free[part] = self.free[part].max(begun) + Time((bytes as f64 / self.bytes_per_ps / share) as u64);
        self.free[part]
    }

    /// The time that all bytes put so far need on the links.
    pub(super) fn least(&self) -> Time {
        Time((self.bytes / self.bytes_per_ps) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Layer, moe_backward};
    use crate::schedule::{Choices, Entry, schedule_with};

    #[test]
    fn parts_of_a_phase_put_at_the_same_time_and_no_faster_than_the_links() {
        // Six sending cores serve two peers, three cores each.
        let (layer, target) = (moe_backward(&Layer { put: 8, ..Layer::DEEPSEEK }), Target::ascend_a3());
        let schedule = schedule_with(&layer, &target, &Choices::read("peer_cores=20 put_cores=6").unwrap());
        let order = schedule.order(2).unwrap();
        let mut links = Links::new(layer.graph(), order, &target);
        let sends =
            |(part, queue): (PartId, &Vec<Entry>)| queue.iter().any(|entry| entry.phase == PhaseId(0)).then_some(part);
        let parts: Vec<PartId> = order.queues.iter().filter_map(sends).collect();
        let [first, second] = parts[..] else { panic!("{} parts send", parts.len()) };
        let bytes = 1 << 20;
        let mut put = |part, begun| links.put((part, PhaseId(0)), bytes, Time(begun)).0;
        let twice = (2.0 * bytes as f64 / (target.link.other_package_gb_per_s / 1e3)) as u64;
        assert_eq!([put(first, 0), put(second, 5), put(first, 7)], [twice, twice + 5, 2 * twice]);
        assert!(links.least().0.abs_diff(twice * 3 / 2) < 2);
    }
}
