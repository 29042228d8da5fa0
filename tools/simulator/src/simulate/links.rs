//! Puts in flight between dies.

use super::Time;
use super::lane::Lane;
use super::shares::{Filling, Flows, flow_rates};
use hpmoe_core::target::Target;

/// Number of ends of each rank's links: out and in, to its own package and to other packages.
const ENDS: u32 = 4;
const NONE: u32 = u32::MAX;

/// The links of all ranks. All puts from one rank to another share a lane. Lanes get max-min fair shares of the bandwidth of the links'
/// ends, and no put gets more than one vector core can send.
///
/// An end with enough bandwidth for all its puts slows down none of them; other ends are narrow. When puts begin or end, rates are computed
/// again only for lanes that are connected to the change by narrow ends.
#[derive(Debug)]
pub(super) struct Links {
    ranks: u32,
    per_package: u32,
    ends: Vec<End>,
    put_per_ps: f64,
    /// Number of the lane of each pair of source and destination.
    lane_of: Vec<u32>,
    lanes: Vec<Lane>,
    flows: Vec<Flows>,
    changed: Vec<u32>,
    connected: Connected,
    filling: Filling,
    current: Vec<Flows>,
    rates: Vec<f64>,
}

/// An end of a link.
#[derive(Clone, Debug, Default)]
struct End {
    capacity: f64,
    /// The lanes through this end that have puts.
    lanes: Vec<u32>,
    /// Number of puts in these lanes.
    puts: u32,
    /// Whether the end had too little bandwidth for all its puts when rates were last computed.
    was_narrow: bool,
}

impl End {
    fn is_narrow(&self, most: f64) -> bool {
        f64::from(self.puts) * most > self.capacity
    }
}

/// The lanes that a change may slow down or speed up, and the ends that connect them.
#[derive(Debug, Default)]
struct Connected {
    lanes: Vec<u32>,
    ends: Vec<u32>,
    lane_seen: Vec<bool>,
    /// For each end, its position among the connected ends.
    place: Vec<u32>,
    capacity: Vec<f64>,
}

impl Links {
    pub(super) fn new(target: &Target, ranks: u32) -> Self {
        let link = &target.link;
        let same = link.same_package_gb_per_s / 1e3;
        let other = link.other_package_gb_per_s / 1e3;
        let capacities = (0..ranks).flat_map(|_| [same, same, other, other]);
        Self {
            ranks,
            per_package: link.dies_per_package,
            ends: capacities.map(|capacity| End { capacity, ..End::default() }).collect(),
            put_per_ps: link.put_gb_per_s_per_aiv / 1e3,
            lane_of: vec![NONE; (ranks * ranks) as usize],
            lanes: Vec::new(),
            flows: Vec::new(),
            changed: Vec::new(),
            connected: Connected { place: vec![NONE; (ranks * ENDS) as usize], ..Connected::default() },
            filling: Filling::default(),
            current: Vec::new(),
            rates: Vec::new(),
        }
    }

    /// Begins a put of core `core` from rank `from` to rank `to`.
    pub(super) fn join(&mut self, now: Time, (from, to): (u32, u32), bytes: u64, core: u32) {
        let pair = (from * self.ranks + to) as usize;
        if self.lane_of[pair] == NONE {
            self.lane_of[pair] = self.lanes.len() as u32;
            self.lanes.push(Lane::default());
            let other = if from / self.per_package == to / self.per_package { 0 } else { 2 };
            self.flows.push(Flows { out: from * ENDS + other, into: to * ENDS + other + 1, count: 0 });
        }
        let lane = self.lane_of[pair];
        let Flows { out, into, .. } = self.flows[lane as usize];
        let first = self.lanes[lane as usize].len() == 0;
        for end in [out, into] {
            let end = &mut self.ends[end as usize];
            end.puts += 1;
            if first {
                end.lanes.push(lane);
            }
        }
        self.lanes[lane as usize].join(now, bytes as f64, core);
        self.changed.push(lane);
    }

    /// Removes a core whose put ends at `now`, if there is one.
    pub(super) fn pop(&mut self, now: Time, lane: u32) -> Option<u32> {
        let core = self.lanes[lane as usize].pop(now)?;
        let Flows { out, into, .. } = self.flows[lane as usize];
        let last = self.lanes[lane as usize].len() == 0;
        for end in [out, into] {
            let end = &mut self.ends[end as usize];
            end.puts -= 1;
            if last {
                end.lanes.retain(|&other| other != lane);
            }
        }
        self.changed.push(lane);
        Some(core)
    }

    pub(super) fn version(&self, lane: u32) -> u32 {
        self.lanes[lane as usize].version
    }

    /// Computes the rates again after puts have begun or ended, and passes the next end of each changed lane to `predict`.
    pub(super) fn settle(&mut self, now: Time, mut predict: impl FnMut(Time, u32, u32)) {
        if self.changed.is_empty() {
            return;
        }
        self.changed.sort_unstable();
        self.changed.dedup();
        self.connect();
        self.current.clear();
        for &lane in &self.connected.lanes {
            let Flows { out, into, .. } = self.flows[lane as usize];
            let [out, into] = [out, into].map(|end| self.connected.place[end as usize]);
            self.current.push(Flows { out, into, count: self.lanes[lane as usize].len() });
        }
        flow_rates(&mut self.filling, &self.connected.capacity, &self.current, self.put_per_ps, &mut self.rates);
        for (&lane, &rate) in self.connected.lanes.iter().zip(&self.rates) {
            if self.lanes[lane as usize].set_rate(now, rate) {
                self.changed.push(lane);
            }
        }
        for &end in &self.connected.ends {
            self.connected.place[end as usize] = NONE;
            let end = &mut self.ends[end as usize];
            end.was_narrow = end.is_narrow(self.put_per_ps);
        }
        self.changed.sort_unstable();
        self.changed.dedup();
        for lane in self.changed.drain(..) {
            let changed = &self.lanes[lane as usize];
            if let Some(end) = changed.next_end() {
                predict(end.max(now), lane, changed.version);
            }
        }
    }

    /// Collects the lanes that have changed, and all lanes that narrow ends connect with them, directly or through other lanes.
    fn connect(&mut self) {
        let Connected { lanes, ends, lane_seen, place, capacity } = &mut self.connected;
        lanes.clear();
        ends.clear();
        capacity.clear();
        lane_seen.resize(self.lanes.len(), false);
        let mut add = |lane: u32, lanes: &mut Vec<u32>, ends: &mut Vec<u32>| {
            if std::mem::replace(&mut lane_seen[lane as usize], true) {
                return;
            }
            if self.lanes[lane as usize].len() > 0 {
                lanes.push(lane);
            }
            let Flows { out, into, .. } = self.flows[lane as usize];
            for end in [out, into] {
                if place[end as usize] == NONE {
                    place[end as usize] = ends.len() as u32;
                    ends.push(end);
                    capacity.push(self.ends[end as usize].capacity);
                }
            }
        };
        for &lane in &self.changed {
            add(lane, lanes, ends);
        }
        let mut at = 0;
        while let Some(&end) = ends.get(at) {
            let end = &self.ends[end as usize];
            if end.was_narrow || end.is_narrow(self.put_per_ps) {
                end.lanes.iter().for_each(|&lane| add(lane, lanes, ends));
            }
            at += 1;
        }
        for &lane in lanes.iter().chain(&self.changed) {
            lane_seen[lane as usize] = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    #[test]
    fn a_lane_that_empties_and_fills_at_once_counts_once() {
        let target = Target::ascend_a3();
        let mut links = Links::new(&target, 4);
        links.join(Time::ZERO, (0, 2), 10_000, 7);
        let mut end = Time::ZERO;
        links.settle(Time::ZERO, |time, _, _| end = time);
        assert_eq!(links.pop(end, 0), Some(7));
        links.join(end, (0, 2), 10_000, 7);
        links.settle(end, |_, _, _| {});
        assert_eq!(links.ends[2].lanes, [0]);
    }

    proptest! {
        /// Checks that, after any changes, rates are the same as if all of them were computed from scratch.
        #[test]
        fn what_is_not_shared_again_keeps_its_share(
            puts in prop::collection::vec((0u32..4, 0u32..4, 1u64..400_000, 0u64..4), 1..300),
        ) {
            let target = Target::ascend_a3();
            let mut links = Links::new(&target, 4);
            let mut now = Time::ZERO;
            let mut ends: BTreeMap<u32, Time> = BTreeMap::new();
            for (core, (from, to, bytes, wait)) in (0..).zip(puts) {
                now += Time(wait * 100_000);
                while let Some((&lane, &end)) = ends.iter().min_by_key(|(_, end)| **end).filter(|(_, end)| **end <= now) {
                    ends.remove(&lane);
                    while links.pop(end, lane).is_some() {}
                    links.settle(end, |end, lane, _| _ = ends.insert(lane, end));
                }
                if from != to {
                    links.join(now, (from, to), bytes, core);
                    links.settle(now, |end, lane, _| _ = ends.insert(lane, end));
                }
                let busy: Vec<u32> = (0..links.lanes.len() as u32).filter(|&lane| links.lanes[lane as usize].len() > 0).collect();
                let flows: Vec<Flows> = busy
                    .iter()
                    .map(|&lane| Flows { count: links.lanes[lane as usize].len(), ..links.flows[lane as usize] })
                    .collect();
                let capacity: Vec<f64> = links.ends.iter().map(|end| end.capacity).collect();
                let mut rates = Vec::new();
                flow_rates(&mut Filling::default(), &capacity, &flows, links.put_per_ps, &mut rates);
                for (&lane, rate) in busy.iter().zip(rates) {
                    let shared = links.lanes[lane as usize].rate();
                    prop_assert!((shared / rate - 1.0).abs() < 1e-6, "lane {} has {} instead of {}", lane, shared, rate);
                }
            }
        }
    }
}
