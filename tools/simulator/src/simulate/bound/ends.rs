//! Minimum times before and after tasks, for any order of tasks.

use crate::simulate::{CoreKind, CounterSignal, CounterWait, QueuedTask, Time, Workload};
use std::collections::BTreeSet;

/// Bounds that follow from counters. When a counter is complete, all tasks that signal it have ended, so at least the longest of them has
/// run before. After that, at least the shortest of the tasks that wait for the counter runs. Between the two, a signal takes time to
/// become visible, unless both tasks may run on one core one after the other.
pub(super) struct Ends {
    /// Number of each rank's first counter, and then the number of all counters.
    first: Vec<u32>,
    /// For each counter, the longest task that signals it: on matrix cores of its rank, on vector cores of its rank, and on other ranks.
    before: Vec<[Time; 3]>,
    /// For each counter, the shortest task that waits for it: on matrix cores, and on vector cores.
    after: Vec<[Option<Time>; 2]>,
    /// For each rank, the first counter that each task of its matrix cores waits for. `tails` has the first counter that each of them
    /// signals.
    heads: Vec<BTreeSet<u32>>,
    tails: Vec<BTreeSet<u32>>,
    /// For each rank, whether a matrix core has a first task that waits for nothing, and whether one has a last task that signals nothing.
    free: Vec<[bool; 2]>,
    begun: bool,
    /// The rank of the previous task, if that was a task of a matrix core that signals nothing.
    silent: Option<u32>,
    /// Tasks that take longer than all tasks seen before them.
    long: Vec<LongTask>,
}

struct LongTask {
    takes: Time,
    kind: CoreKind,
    rank: u32,
    waits: Vec<u32>,
    signals: Vec<u32>,
}

const fn class(kind: CoreKind) -> usize {
    match kind {
        CoreKind::Aic => 0,
        CoreKind::Aiv => 1,
    }
}

impl Ends {
    pub(super) fn new(workload: &dyn Workload) -> Self {
        let mut first = vec![0];
        for rank in 0..workload.ranks() {
            first.push(first[rank as usize] + workload.counters(rank));
        }
        let counters = first[first.len() - 1] as usize;
        Self {
            first,
            before: vec![[Time::ZERO; 3]; counters],
            after: vec![[None; 2]; counters],
            heads: vec![BTreeSet::new(); workload.ranks() as usize],
            tails: vec![BTreeSet::new(); workload.ranks() as usize],
            free: vec![[false; 2]; workload.ranks() as usize],
            begun: false,
            silent: None,
            long: Vec::new(),
        }
    }

    /// Tells that the next task belongs to another core.
    pub(super) fn next_core(&mut self) {
        if let Some(rank) = self.silent.take() {
            self.free[rank as usize][1] = true;
        }
        self.begun = false;
    }

    /// Adds the next task of the core. `takes` is the minimum time from its waits to its signals.
    pub(super) fn add_task(&mut self, (rank, kind): (u32, CoreKind), task: &QueuedTask, takes: Time) {
        let awaited = |wait: &CounterWait| self.first[rank as usize] + wait.counter;
        let given = |signal: &CounterSignal| self.first[signal.rank as usize] + signal.counter;
        let waits: Vec<u32> = task.waits.iter().filter(|wait| wait.need > 0).map(awaited).collect();
        let signals: Vec<u32> = task.signals.iter().map(given).collect();
        for (&counter, signal) in signals.iter().zip(&task.signals) {
            let from = if signal.rank == rank { class(kind) } else { 2 };
            let before = &mut self.before[counter as usize][from];
            *before = takes.max(*before);
        }
        for &counter in &waits {
            let after = &mut self.after[counter as usize][class(kind)];
            *after = Some(after.map_or(takes, |least| least.min(takes)));
        }
        if self.long.last().is_none_or(|longest| takes > longest.takes) {
            self.long.push(LongTask { takes, kind, rank, waits: waits.clone(), signals: signals.clone() });
        }
        if kind == CoreKind::Aic {
            self.free[rank as usize][0] |= !self.begun && waits.is_empty();
            self.silent = signals.is_empty().then_some(rank);
            self.begun = true;
            self.heads[rank as usize].extend(waits.first());
            self.tails[rank as usize].extend(signals.first());
        }
    }

    /// The minimum time before any matrix core of a rank can begin a task, and the minimum time after any of them has ended its last one.
    ///
    /// In another order another task may be the first of its core. But a task that waits for nothing then still follows one that waits, as
    /// it does in this order.
    pub(super) fn head_and_tail(&self, rank: u32, visible: Time) -> (Time, Time) {
        let at = rank as usize;
        let head = self.heads[at].iter().map(|&counter| self.before(&[counter], CoreKind::Aic, visible)).min();
        let tail = self.tails[at].iter().map(|&counter| self.after(&[counter], None, visible)).min();
        let unless = |free: bool, time: Option<Time>| if free { Time::ZERO } else { time.unwrap_or_default() };
        (unless(self.free[at][0], head), unless(self.free[at][1] || self.silent == Some(rank), tail))
    }

    /// The longest path through one of the long tasks: the minimum time before it, its own time, and the minimum time after it.
    pub(super) fn path(&self, visible: Time) -> Time {
        let path = |task: &LongTask| {
            let after = self.after(&task.signals, Some((task.rank, task.kind)), visible);
            self.before(&task.waits, task.kind, visible) + task.takes + after
        };
        self.long.iter().map(path).max().unwrap_or_default()
    }

    fn before(&self, waits: &[u32], kind: CoreKind, visible: Time) -> Time {
        let longest = waits.iter().flat_map(|&counter| {
            let all = (0..).zip(self.before[counter as usize]).filter(|(_, takes)| *takes > Time::ZERO);
            all.map(|(from, takes)| takes + if from == class(kind) { Time::ZERO } else { visible })
        });
        longest.max().unwrap_or_default()
    }

    /// Minimum time that follows these signals. The signalling task runs on a matrix core of any rank or, with `from`, on a core of that
    /// rank and kind, which may run the next task itself.
    fn after(&self, signals: &[u32], from: Option<(u32, CoreKind)>, visible: Time) -> Time {
        let (rank, kind) = from.map_or((None, CoreKind::Aic), |(rank, kind)| (Some(rank), kind));
        let least = signals.iter().filter_map(|&counter| {
            let at = self.first.partition_point(|&first| first <= counter) as u32 - 1;
            let near = rank.is_none_or(|rank| rank == at);
            let of_kind = |to: usize| {
                let seen = if near && to == class(kind) { Time::ZERO } else { visible };
                self.after[counter as usize][to].map(|takes| takes + seen)
            };
            [of_kind(0), of_kind(1)].into_iter().flatten().min()
        });
        least.max().unwrap_or_default()
    }
}
