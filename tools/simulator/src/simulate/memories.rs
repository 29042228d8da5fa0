//! The memories of each die, shared by the work of its cores.

use super::SharedWork;
use super::Time;
use super::lane::Lane;
use super::shares::{Users, level};
use hpmoe_core::target::Target;
use std::collections::HashMap;

/// Number of steps per GB/s in which demands are counted: a demand is rounded up to a quarter GB/s, so that equal tasks share a lane and
/// sums are exact.
const STEPS_PER_GB: f64 = 4.0;

/// The bandwidth of each memory that a task needs to run at full speed, in steps.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
struct Demand {
    hbm: u64,
    l2: u64,
}

impl Demand {
    /// Time of the work at full speed, in picoseconds, and the bandwidth that it needs meanwhile.
    fn of(work: &SharedWork) -> (f64, Self) {
        let time = work.time.0.max(1) as f64;
        // Bytes in a picosecond are TB/s.
        let steps = |bytes: f64| (bytes / time * 1e3 * STEPS_PER_GB).ceil() as u64;
        (time, Self { hbm: steps(work.hbm), l2: steps(work.l2) })
    }
}

/// HBM and L2 of all dies. Tasks on a die with the same demand share a lane. A memory that can't serve all tasks gives them max-min fair
/// shares, and the slower of the two memories determines a task's speed. (If one memory slows a task down, the bandwidth of the other that
/// the task then can't use is not given to other tasks, so speeds are a little too low.)
///
/// Puts take at most the bandwidth of the links. Memories don't slow puts down; puts leave less bandwidth to other work.
#[derive(Debug)]
pub(super) struct Memories {
    hbm: u64,
    l2: u64,
    put: u64,
    /// Maximum bandwidth that all puts of a die take in one direction: within its package, and to or from other packages.
    links: [u64; 2],
    per_package: u32,
    dies: Vec<DieState>,
    lanes: Vec<(u32, Demand, Lane)>,
    lane_of: HashMap<(u32, Demand), u32>,
    dirty: Vec<u32>,
}

#[derive(Clone, Debug, Default)]
struct DieState {
    /// Sum of the demands of all running tasks on HBM.
    hbm: u64,
    l2: u64,
    /// Number of running puts, within the package and to other packages: each for out and in.
    puts: [[u64; 2]; 2],
    active: Vec<u32>,
    changed: Vec<u32>,
    short: bool,
    dirty: bool,
}

impl Memories {
    pub(super) fn new(target: &Target, ranks: u32) -> Self {
        let steps = |gb_per_s: f64| (gb_per_s * STEPS_PER_GB).round() as u64;
        let l2 = target.memory.l2_read_bytes_per_cycle_core * target.cores.clock_ghz * f64::from(target.cores.aic);
        let link = &target.link;
        Self {
            hbm: steps(target.memory.hbm_gb_per_s),
            l2: steps(l2),
            put: steps(link.put_gb_per_s_per_aiv),
            links: [steps(link.same_package_gb_per_s), steps(link.other_package_gb_per_s)],
            per_package: link.dies_per_package,
            dies: vec![DieState::default(); ranks as usize],
            lanes: Vec::new(),
            lane_of: HashMap::new(),
            dirty: Vec::new(),
        }
    }

    /// Begins work of a core on rank `rank`.
    pub(super) fn join(&mut self, now: Time, rank: u32, work: &SharedWork, core: u32) {
        let (time, demand) = Demand::of(work);
        let lanes = &mut self.lanes;
        let lane = *self.lane_of.entry((rank, demand)).or_insert_with(|| {
            let mut lane = Lane::default();
            lane.set_rate(now, 1.0);
            lanes.push((rank, demand, lane));
            lanes.len() as u32 - 1
        });
        let members = &mut self.lanes[lane as usize].2;
        let die = &mut self.dies[rank as usize];
        if members.len() == 0 {
            // A lane that became empty a moment ago is still listed.
            if !die.active.contains(&lane) {
                die.active.push(lane);
            }
            members.set_rate(now, 1.0);
        }
        members.join(now, time, core);
        die.hbm += demand.hbm;
        die.l2 += demand.l2;
        die.changed.push(lane);
        self.touch(rank);
    }

    /// Ends work of a core before it is done, and returns the share of it that is left.
    pub(super) fn leave(&mut self, now: Time, rank: u32, work: &SharedWork, core: u32) -> f64 {
        let (time, demand) = Demand::of(work);
        let lane = self.lane_of[&(rank, demand)];
        let left = self.lanes[lane as usize].2.leave(now, core);
        let die = &mut self.dies[rank as usize];
        die.hbm -= demand.hbm;
        die.l2 -= demand.l2;
        die.changed.push(lane);
        self.touch(rank);
        left / time
    }

    /// Removes a core whose work ends at `now`, if there is one.
    pub(super) fn pop(&mut self, now: Time, lane: u32) -> Option<u32> {
        let (rank, demand, members) = &mut self.lanes[lane as usize];
        let core = members.pop(now)?;
        let rank = *rank;
        let die = &mut self.dies[rank as usize];
        die.hbm -= demand.hbm;
        die.l2 -= demand.l2;
        die.changed.push(lane);
        self.touch(rank);
        Some(core)
    }

    /// Begins a put from one rank to another.
    pub(super) fn put_begins(&mut self, (from, to): (u32, u32)) {
        let beyond = self.beyond(from, to);
        self.dies[from as usize].puts[beyond][0] += 1;
        self.dies[to as usize].puts[beyond][1] += 1;
        self.touch(from);
        self.touch(to);
    }

    /// Ends a put from one rank to another.
    pub(super) fn put_ends(&mut self, (from, to): (u32, u32)) {
        let beyond = self.beyond(from, to);
        self.dies[from as usize].puts[beyond][0] -= 1;
        self.dies[to as usize].puts[beyond][1] -= 1;
        self.touch(from);
        self.touch(to);
    }

    fn beyond(&self, from: u32, to: u32) -> usize {
        usize::from(from / self.per_package != to / self.per_package)
    }

    pub(super) fn version(&self, lane: u32) -> u32 {
        self.lanes[lane as usize].2.version
    }

    /// Divides the memories' bandwidth again on dies whose tasks or puts have changed, and passes the next end of each changed lane to
    /// `predict`.
    pub(super) fn settle(&mut self, now: Time, mut predict: impl FnMut(Time, u32, u32)) {
        let mut dirty = std::mem::take(&mut self.dirty);
        for &rank in &dirty {
            self.settle_die(now, rank);
            let die = &mut self.dies[rank as usize];
            die.dirty = false;
            die.changed.sort_unstable();
            die.changed.dedup();
            for lane in die.changed.drain(..) {
                let changed = &self.lanes[lane as usize].2;
                if let Some(end) = changed.next_end() {
                    predict(end.max(now), lane, changed.version);
                }
            }
        }
        dirty.clear();
        self.dirty = dirty;
    }

    fn settle_die(&mut self, now: Time, rank: u32) {
        let die = &mut self.dies[rank as usize];
        let lanes = &mut self.lanes;
        die.active.retain(|&lane| lanes[lane as usize].2.len() > 0);
        let links = die.puts.iter().zip(self.links);
        let puts: u64 = links.flat_map(|(puts, link)| puts.map(|count| (count * self.put).min(link))).sum();
        // Puts leave at least a quarter to other work.
        let hbm = self.hbm.saturating_sub(puts).max(self.hbm / 4);
        let short = die.hbm > hbm || die.l2 > self.l2;
        if !short && !die.short {
            return;
        }
        die.short = short;
        let users = |wants: fn(&Demand) -> u64| -> Vec<Users> {
            let users_of = |&lane: &u32| {
                let (_, demand, lane) = &lanes[lane as usize];
                Users { count: lane.len(), wants: wants(demand) as f64 }
            };
            die.active.iter().map(users_of).collect()
        };
        let hbm = level(hbm as f64, &users(|demand| demand.hbm));
        let l2 = level(self.l2 as f64, &users(|demand| demand.l2));
        for &lane in &die.active {
            let (_, demand, members) = &mut lanes[lane as usize];
            let speed = |level: f64, wants: u64| if wants as f64 > level { level / wants as f64 } else { 1.0 };
            if members.set_rate(now, speed(hbm, demand.hbm).min(speed(l2, demand.l2))) {
                die.changed.push(lane);
            }
        }
    }

    fn touch(&mut self, rank: u32) {
        let die = &mut self.dies[rank as usize];
        if !die.dirty {
            die.dirty = true;
            self.dirty.push(rank);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lane_that_empties_and_fills_at_once_counts_once() {
        let target = Target::ascend_a3();
        let mut memories = Memories::new(&target, 1);
        let work = SharedWork { time: Time(1_000), hbm: 1.0, l2: 1.0 };
        memories.join(Time::ZERO, 0, &work, 7);
        memories.settle(Time::ZERO, |_, _, _| {});
        assert_eq!(memories.pop(Time(1_000), 0), Some(7));
        memories.join(Time(1_000), 0, &work, 7);
        memories.settle(Time(1_000), |_, _, _| {});
        assert_eq!(memories.dies[0].active, [0]);
    }
}
