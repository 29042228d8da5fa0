//! Puts in flight between dies.

use super::Time;
use super::lane::Lane;
use super::shares::{Filling, Flows, flow_rates};
use hpmoe_codegen::target::Target;

/// The ends of each rank's links: out and in, to its own package and to others.
const ENDS: u32 = 4;
const NONE: u32 = u32::MAX;

/// The links of all ranks. All puts from one rank to another share a lane. Lanes get max-min fair shares of the bandwidth of the
/// links' ends, and no put gets more than one vector core can send.
#[derive(Debug)]
pub(super) struct Links {
    ranks: u32,
    per_package: u32,
    capacity: Vec<f64>,
    put_per_ps: f64,
    /// The lane of each pair of source and destination.
    lane_of: Vec<u32>,
    lanes: Vec<Lane>,
    flows: Vec<Flows>,
    active: Vec<u32>,
    changed: Vec<u32>,
    filling: Filling,
    current: Vec<Flows>,
    rates: Vec<f64>,
}

impl Links {
    pub(super) fn new(target: &Target, ranks: u32) -> Self {
        let link = &target.link;
        let same = link.same_package_gb_per_s / 1e3;
        let other = link.other_package_gb_per_s / 1e3;
        Self {
            ranks,
            per_package: link.dies_per_package,
            capacity: (0..ranks).flat_map(|_| [same, same, other, other]).collect(),
            put_per_ps: link.put_gb_per_s_per_aiv / 1e3,
            lane_of: vec![NONE; (ranks * ranks) as usize],
            lanes: Vec::new(),
            flows: Vec::new(),
            active: Vec::new(),
            changed: Vec::new(),
            filling: Filling::default(),
            current: Vec::new(),
            rates: Vec::new(),
        }
    }

    /// Begins the put of a core of `from`.
    pub(super) fn join(&mut self, now: Time, (from, to): (u32, u32), bytes: u64, core: u32) {
        let pair = (from * self.ranks + to) as usize;
        if self.lane_of[pair] == NONE {
            self.lane_of[pair] = self.lanes.len() as u32;
            self.lanes.push(Lane::default());
            let other = if from / self.per_package == to / self.per_package { 0 } else { 2 };
            self.flows.push(Flows { out: from * ENDS + other, into: to * ENDS + other + 1, count: 0 });
        }
        let lane = self.lane_of[pair];
        // A lane that became empty a moment ago is still listed.
        if self.lanes[lane as usize].len() == 0 && !self.active.contains(&lane) {
            self.active.push(lane);
        }
        self.lanes[lane as usize].join(now, bytes as f64, core);
        self.changed.push(lane);
    }

    /// Removes a core whose put ends now, if there is one.
    pub(super) fn pop(&mut self, now: Time, lane: u32) -> Option<u32> {
        let core = self.lanes[lane as usize].pop(now)?;
        self.changed.push(lane);
        Some(core)
    }

    pub(super) fn version(&self, lane: u32) -> u32 {
        self.lanes[lane as usize].version
    }

    /// Shares the links again after puts have begun or ended, and passes the next end of each lane that has changed to `predict`.
    pub(super) fn settle(&mut self, now: Time, mut predict: impl FnMut(Time, u32, u32)) {
        if self.changed.is_empty() {
            return;
        }
        let lanes = &self.lanes;
        self.active.retain(|&lane| lanes[lane as usize].len() > 0);
        self.current.clear();
        for &lane in &self.active {
            self.current.push(Flows { count: self.lanes[lane as usize].len(), ..self.flows[lane as usize] });
        }
        flow_rates(&mut self.filling, &self.capacity, &self.current, self.put_per_ps, &mut self.rates);
        for (&lane, &rate) in self.active.iter().zip(&self.rates) {
            if self.lanes[lane as usize].set_rate(now, rate) {
                self.changed.push(lane);
            }
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
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(links.active, [0]);
    }
}
