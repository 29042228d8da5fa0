//! The least time before and after tasks, in any order.

use crate::simulate::{CoreKind, CounterSignal, CounterWait, QueuedTask, Time, Workload};
use std::collections::BTreeSet;

/// Bounds from counters. A full counter has all its signals, so the longest of the tasks that signal it came before; after it
/// comes at least the shortest of the tasks that wait for it. A signal takes a while to be seen, unless both tasks may run on one
/// core one after the other.
pub(super) struct Ends {
    /// The number of the first counter of each rank, and that of all counters.
    first: Vec<u32>,
    /// By counter: the longest task that signals it, of matrix and of vector cores of its rank, and of other ranks.
    before: Vec<[Time; 3]>,
    /// By counter: the shortest task that waits for it, of matrix and of vector cores.
    after: Vec<[Option<Time>; 2]>,
    /// By rank: the counters that a task of its matrix cores waits for first, and those that one signals first.
    heads: Vec<BTreeSet<u32>>,
    tails: Vec<BTreeSet<u32>>,
    /// By rank: whether a matrix core has a first task that waits for nothing, or a last one that signals nothing.
    free: Vec<[bool; 2]>,
    begun: bool,
    /// The rank of the last task, if it is one of a matrix core that signals nothing.
    silent: Option<u32>,
    /// Tasks that take longer than all tasks before them.
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

    /// Goes on to the tasks of another core.
    pub(super) fn next_core(&mut self) {
        if let Some(rank) = self.silent.take() {
            self.free[rank as usize][1] = true;
        }
        self.begun = false;
    }

    /// Takes the next task of the core into account, with the least time from its waits to its signals.
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

    /// The least time before any matrix core of a rank can begin, and the least after any has ended.
    ///
    /// In another order another task may be the first of its core, but a task that waits for nothing then still follows one that
    /// waits, as it does in this order.
    pub(super) fn head_and_tail(&self, rank: u32, visible: Time) -> (Time, Time) {
        let at = rank as usize;
        let head = self.heads[at].iter().map(|&counter| self.before(&[counter], CoreKind::Aic, visible)).min();
        let tail = self.tails[at].iter().map(|&counter| self.after(&[counter], None, visible)).min();
        let unless = |free: bool, time: Option<Time>| if free { Time::ZERO } else { time.unwrap_or_default() };
        (unless(self.free[at][0], head), unless(self.free[at][1] || self.silent == Some(rank), tail))
    }

    /// The longest path through one of the long tasks, with the least that comes before and after it.
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

    /// The least time after these signals of a matrix core, or of a core of rank and kind `from`, which may run the next task itself.
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
