//! The least time before and after tasks, in any order.

use crate::simulate::{CoreKind, CounterSignal, CounterWait, QueuedTask, Time, Work, Workload};
use hpmoe_codegen::target::Target;

/// Bounds from counters. A full counter has all its signals, so the longest of the tasks that signal it came before; after it
/// comes at least the shortest of the tasks that wait for it.
pub(super) struct Ends {
    visible: Time,
    fence: Time,
    /// The number of the first counter of each rank, and that of all counters.
    first: Vec<u32>,
    /// By counter: the longest task that signals it.
    before: Vec<Time>,
    /// By counter: the shortest task that waits for it.
    after: Vec<Option<Time>>,
    /// By matrix core: the counters that its first task waits for.
    heads: Vec<Vec<u32>>,
    /// By matrix core: the counters that its last task signals.
    tails: Vec<Vec<u32>>,
    begun: bool,
    /// Tasks that take longer than all tasks before them: time, counters awaited, counters signalled.
    long: Vec<(Time, Vec<u32>, Vec<u32>)>,
}

impl Ends {
    pub(super) fn new(target: &Target, workload: &dyn Workload) -> Self {
        let mut first = vec![0];
        for rank in 0..workload.ranks() {
            first.push(first[rank as usize] + workload.counters(rank));
        }
        let counters = first[first.len() - 1] as usize;
        Self {
            visible: Time::from_ns(target.sync.counter_visible_ns),
            fence: Time::from_ns(target.sync.fence_remote_ns),
            first,
            before: vec![Time::ZERO; counters],
            after: vec![None; counters],
            heads: Vec::new(),
            tails: Vec::new(),
            begun: false,
            long: Vec::new(),
        }
    }

    /// Goes on to the tasks of another core.
    pub(super) fn next_core(&mut self) {
        self.begun = false;
    }

    /// Takes the next task of the core into account.
    pub(super) fn add_task(&mut self, rank: u32, kind: CoreKind, task: &QueuedTask, alone: Time) {
        let fence = match task.work {
            Work::Put { to, .. } if to != rank => self.fence,
            _ => Time::ZERO,
        };
        let takes = alone + fence;
        let awaited = |wait: &CounterWait| self.first[rank as usize] + wait.counter;
        let given = |signal: &CounterSignal| self.first[signal.rank as usize] + signal.counter;
        let waits: Vec<u32> = task.waits.iter().filter(|wait| wait.need > 0).map(awaited).collect();
        let signals: Vec<u32> = task.signals.iter().map(given).collect();
        for &counter in &signals {
            let before = &mut self.before[counter as usize];
            *before = takes.max(*before);
        }
        for &counter in &waits {
            let after = &mut self.after[counter as usize];
            *after = Some(after.map_or(takes, |least| least.min(takes)));
        }
        if self.long.last().is_none_or(|(longest, ..)| takes > *longest) {
            self.long.push((takes, waits.clone(), signals.clone()));
        }
        if kind == CoreKind::Aic {
            if self.begun {
                self.tails.pop();
            } else {
                self.heads.push(waits);
            }
            self.tails.push(signals);
            self.begun = true;
        }
    }

    /// The least time before any matrix core can begin, and the least after any has ended.
    pub(super) fn head_and_tail(&self) -> (Time, Time) {
        let head = self.heads.iter().map(|waits| self.before(waits)).min();
        let tail = self.tails.iter().map(|signals| self.after(signals)).min();
        (head.unwrap_or_default(), tail.unwrap_or_default())
    }

    /// The longest path through one of the long tasks, with the least that comes before and after it.
    pub(super) fn path(&self) -> Time {
        let paths = self.long.iter().map(|(takes, waits, signals)| self.before(waits) + *takes + self.after(signals));
        paths.max().unwrap_or_default()
    }

    fn before(&self, waits: &[u32]) -> Time {
        let before = waits.iter().map(|&counter| self.before[counter as usize] + self.visible);
        before.max().unwrap_or_default()
    }

    fn after(&self, signals: &[u32]) -> Time {
        let after = signals.iter().filter_map(|&counter| self.after[counter as usize]);
        after.map(|least| least + self.visible).max().unwrap_or_default()
    }
}
