//! Counters of all ranks and the cores that wait for them.

use super::{CounterSignal, CounterWait, Program, Time};

const NOBODY: u32 = u32::MAX;

/// What a wait was for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum WaitCause {
    /// Another core's work.
    #[default]
    Work,
    /// Rows on their way.
    Put,
}

#[derive(Clone, Copy, Debug)]
struct Counter {
    value: u32,
    waiting: u32,
    /// When the last signal so far is seen.
    seen: Time,
    cause: WaitCause,
}

/// All counters. A counter that has reached what a core waits for is seen when the latest of its signals is: exact where,
/// as in every program here, a core waits for all that a counter ever gets.
#[derive(Debug)]
pub(super) struct Counters {
    first: Vec<u32>,
    counters: Vec<Counter>,
    /// By core: what it waits for, and who else waits for the same.
    needs: Vec<u32>,
    next: Vec<u32>,
}

impl Counters {
    pub(super) fn new(program: &dyn Program, cores: u32) -> Self {
        let mut first = vec![0];
        for rank in 0..program.ranks() {
            first.push(first[rank as usize] + program.counters(rank));
        }
        let counter = Counter { value: 0, waiting: NOBODY, seen: Time::ZERO, cause: WaitCause::Work };
        Self {
            counters: vec![counter; first[first.len() - 1] as usize],
            first,
            needs: vec![0; cores as usize],
            next: vec![NOBODY; cores as usize],
        }
    }

    /// When and why a counter that has reached `need` is seen; otherwise the core is noted, and [`Self::signal`] wakes it.
    pub(super) fn look(
        &mut self,
        rank: u32,
        CounterWait { counter, need }: CounterWait,
        core: u32,
    ) -> Option<(Time, WaitCause)> {
        let of = &mut self.counters[(self.first[rank as usize] + counter) as usize];
        if of.value >= need {
            return Some((of.seen, of.cause));
        }
        self.needs[core as usize] = need;
        self.next[core as usize] = std::mem::replace(&mut of.waiting, core);
        None
    }

    /// Adds to a counter; cores that need not wait any longer are added to `woken`.
    pub(super) fn signal(&mut self, signal: &CounterSignal, seen: Time, cause: WaitCause, woken: &mut Vec<u32>) {
        let &CounterSignal { rank, counter, amount } = signal;
        let of = &mut self.counters[(self.first[rank as usize] + counter) as usize];
        of.value += amount;
        if seen >= of.seen {
            of.seen = seen;
            of.cause = cause;
        }
        let mut core = std::mem::replace(&mut of.waiting, NOBODY);
        while core != NOBODY {
            let next = self.next[core as usize];
            if of.value >= self.needs[core as usize] {
                woken.push(core);
            } else {
                self.next[core as usize] = std::mem::replace(&mut of.waiting, core);
            }
            core = next;
        }
    }
}
