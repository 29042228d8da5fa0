//! Tests how far the list scheduler is from the best order of small graphs, by branch and bound.

use super::cost::EntryCosts;
use super::groups::Groups;
use super::precedence::Precedence;
use super::{Cores, schedule, timeline};
use crate::analyze::CheckedGraph;
use crate::fixture::{Layer, moe_ffn};
use crate::random::Random;
use crate::target::Target;

/// Entries to be placed on lanes, one at a time per lane, with the entries that must end before each.
struct Problem {
    time: Vec<u64>,
    lane: Vec<usize>,
    before: Vec<Vec<usize>>,
    visible: u64,
    /// For each entry, the least time from its start to the end of all entries.
    left: Vec<u64>,
    lanes: usize,
}

/// The entries that have been placed so far.
#[derive(Clone)]
struct State {
    end: Vec<Option<u64>>,
    free: Vec<u64>,
    /// Remaining work of each lane.
    work: Vec<u64>,
}

impl Problem {
    /// The entries of one rank as the modelled timeline runs them.
    fn new(checked: &CheckedGraph, target: &Target, ranks: u32) -> Self {
        let schedule = schedule(checked, Cores::ASCEND_A3);
        let order = schedule.orders.iter().find(|order| order.ranks == ranks).unwrap();
        let (graph, groups) = (checked.graph(), Groups::new(checked.graph(), ranks));
        let costs = EntryCosts::new(graph, target);
        let precedence = Precedence::new(checked, &groups, ranks, None);
        let mut before = vec![Vec::new(); groups.len()];
        for entry in 0..groups.len() {
            let mut open: Vec<usize> = precedence.successors(entry).collect();
            while let Some(node) = open.pop() {
                if node < groups.len() {
                    before[node].push(entry);
                } else {
                    open.extend(precedence.successors(node));
                }
            }
        }
        let (mut time, mut lane) = (vec![0; groups.len()], vec![0; groups.len()]);
        for (part, queue) in order.queues.iter() {
            for &entry in queue {
                let number = groups.number(entry);
                time[number] = costs.entry_time(graph, &order.parts[part], ranks, entry.phase).0;
                lane[number] = part.0 as usize;
            }
        }
        let visible = costs.visible.0;
        let mut left = time.clone();
        // Entries of later phases come later, so one backward pass covers all paths.
        for entry in (0..groups.len()).rev() {
            for &earlier in &before[entry] {
                left[earlier] = left[earlier].max(time[earlier] + visible + left[entry]);
            }
        }
        Self { time, lane, before, visible, left, lanes: order.parts.len() }
    }

    /// The earliest start of an entry whose predecessors are all placed.
    fn start(&self, state: &State, entry: usize) -> Option<u64> {
        let free = state.free[self.lane[entry]];
        self.before[entry].iter().try_fold(free, |start, &before| Some(start.max(state.end[before]? + self.visible)))
    }

    /// Finds the shortest end of all entries, if it is below `best`. Some best order is among those in which no entry could begin sooner
    /// without another one beginning later. So on the lane that can end an entry first, only entries that can begin before that end are
    /// tried next (Giffler and Thompson).
    fn solve(&self, state: &State, best: &mut u64) {
        let open = (0..self.time.len()).filter(|&entry| state.end[entry].is_none());
        let ready: Vec<(usize, u64)> = open.filter_map(|entry| Some((entry, self.start(state, entry)?))).collect();
        let Some(&(first, start)) = ready.iter().min_by_key(|&&(entry, start)| (start + self.time[entry], entry))
        else {
            *best = state.free.iter().copied().max().unwrap().min(*best);
            return;
        };
        let by_lane = (0..self.lanes).map(|lane| state.free[lane] + state.work[lane]).max().unwrap();
        let by_path = ready.iter().map(|&(entry, start)| start + self.left[entry]).max().unwrap();
        if by_lane.max(by_path) >= *best {
            return;
        }
        let (lane, end) = (self.lane[first], start + self.time[first]);
        let mut next: Vec<(usize, u64)> =
            ready.into_iter().filter(|&(entry, start)| self.lane[entry] == lane && start < end).collect();
        next.sort_by_key(|&(entry, _)| std::cmp::Reverse(self.left[entry]));
        for (entry, start) in next {
            let mut state = state.clone();
            state.end[entry] = Some(start + self.time[entry]);
            state.free[lane] = start + self.time[entry];
            state.work[lane] -= self.time[entry];
            self.solve(&state, best);
        }
    }

    fn optimum(&self) -> u64 {
        let mut work = vec![0; self.lanes];
        for (&time, &lane) in self.time.iter().zip(&self.lane) {
            work[lane] += time;
        }
        let state = State { end: vec![None; self.time.len()], free: vec![0; self.lanes], work };
        let mut best = u64::MAX;
        self.solve(&state, &mut best);
        best
    }
}

#[test]
fn the_list_is_close_to_the_best_order_of_small_graphs() {
    let target = Target::ascend_a3();
    let mut random = Random(11);
    let (mut sum, mut worst, mut count) = (0.0, 0f64, 0);
    for _ in 0..40 {
        let mut drawn = |values: &[usize]| values[random.index(values.len())];
        let (experts, ranks) = [(2, 1), (3, 1), (4, 2), (4, 4)][drawn(&[0, 1, 2, 3])];
        let (hidden, inter) = (drawn(&[256, 1024, 4096]), drawn(&[128, 512, 2048]));
        let (tokens, put) = (drawn(&[64, 256, 1024]), drawn(&[8, 16, 64]));
        let layer = Layer {
            hidden,
            inter,
            experts,
            top_k: drawn(&[1, 2]),
            tokens,
            tile_m: 64,
            tile_n: 64,
            put: put.min(if hidden == 4096 { 8 } else { 64 }),
            block: 4,
            columns: 256,
        };
        let checked = moe_ffn(&layer);
        let list = timeline(&checked, &schedule(&checked, Cores::ASCEND_A3), &target, ranks).unwrap().end.0;
        let optimum = Problem::new(&checked, &target, ranks).optimum();
        assert!(optimum <= list, "{layer:?}: {list} ns is less than the optimum of {optimum} ns");
        let ratio = list as f64 / optimum as f64;
        (sum, worst, count) = (sum + ratio, worst.max(ratio), count + 1);
    }
    let mean = sum / f64::from(count);
    println!("list over optimum: {mean:.3} on average, {worst:.3} at worst");
    assert!(mean < 1.10 && worst < 1.35, "list over optimum: {mean:.3} on average, {worst:.3} at worst");
}
