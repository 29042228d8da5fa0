//! The counters of all ranks and the cores that wait for them.

use super::{CounterSignal, CounterWait, Time, Workload};

const NOBODY: u32 = u32::MAX;

/// The kind of thing that a core waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum WaitCause {
    /// Waiting for another core's work.
    #[default]
    Work,
    /// Waiting for rows in transit.
    Put,
}

#[derive(Clone, Copy, Debug)]
struct CounterState {
    value: u32,
    waiting: u32,
    /// Time at which the latest signal so far is visible to cores.
    seen: Time,
    cause: WaitCause,
}

/// The counters of all ranks. A core sees that a counter has reached its threshold at the time when its latest signal becomes visible. This
/// is exact if a counter's threshold is the sum of all its signals, as in every workload here.
#[derive(Debug)]
pub(super) struct Counters {
    first: Vec<u32>,
    counters: Vec<CounterState>,
    /// For each core, the threshold that it waits for.
    needs: Vec<u32>,
    /// For each core, the next core in the list of those that wait for the same counter.
    next: Vec<u32>,
}

impl Counters {
    pub(super) fn new(workload: &dyn Workload, cores: u32) -> Self {
        let mut first = vec![0];
        for rank in 0..workload.ranks() {
            first.push(first[rank as usize] + workload.counters(rank));
        }
        let counter = CounterState { value: 0, waiting: NOBODY, seen: Time::ZERO, cause: WaitCause::Work };
        Self {
            counters: vec![counter; first[first.len() - 1] as usize],
            first,
            needs: vec![0; cores as usize],
            next: vec![NOBODY; cores as usize],
        }
    }

    /// If a counter has reached `need`, the time at which the core sees that, and the reason for its wait. Otherwise `None`: the core is
    /// added to those that wait for the counter, and [`Self::signal`] wakes it.
    pub(super) fn look(
        &mut self,
        rank: u32,
        CounterWait { counter, need }: CounterWait,
        core: u32,
    ) -> Option<(Time, WaitCause)> {
        let counter = &mut self.counters[(self.first[rank as usize] + counter) as usize];
        if counter.value >= need {
            return Some((counter.seen, counter.cause));
        }
        self.needs[core as usize] = need;
        self.next[core as usize] = std::mem::replace(&mut counter.waiting, core);
        None
    }

    /// Adds to a counter, and appends the cores whose threshold is reached to `woken`.
    pub(super) fn signal(&mut self, signal: &CounterSignal, seen: Time, cause: WaitCause, woken: &mut Vec<u32>) {
        let &CounterSignal { rank, counter, amount } = signal;
        let counter = &mut self.counters[(self.first[rank as usize] + counter) as usize];
        counter.value += amount;
        if seen >= counter.seen {
            counter.seen = seen;
            counter.cause = cause;
        }
        let mut core = std::mem::replace(&mut counter.waiting, NOBODY);
        while core != NOBODY {
            let next = self.next[core as usize];
            if counter.value >= self.needs[core as usize] {
                woken.push(core);
            } else {
                self.next[core as usize] = std::mem::replace(&mut counter.waiting, core);
            }
            core = next;
        }
    }
}
