//! The event loop of the simulation.

mod ahead;

use super::core_state::{CoreState, look_at};
use super::counters::{Counters, WaitCause};
use super::links::Links;
use super::memories::Memories;
use super::result::{Halted, Simulated, Stuck, TaskTimes};
use super::tally::Tally;
use super::{CoreKind, PolicyCosts, Time, Upcoming, Work, Workload};
use super::{Cost, CostModel};
use hpmoe_core::target::Target;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Runs a workload on a target. With `slices`, the result has the times of every task ([`Simulated::slices`]).
///
/// # Errors
///
/// If cores wait for counters that no task will signal.
pub fn simulate(target: &Target, workload: &dyn Workload, slices: bool) -> Result<Simulated, Stuck> {
    let mut engine = Engine::new(target, workload, slices);
    engine.begin();
    engine.run(&mut |_| true);
    engine.end()
}

/// Runs a workload on a target while `going` returns true. `going` is called after every [`EVENTS_BETWEEN`] events. Its argument is the
/// latest end of a task so far, which is a lower bound on the latency.
///
/// # Errors
///
/// If cores wait for counters that no task will signal, or if `going` has returned false.
pub fn simulate_while(
    target: &Target,
    workload: &dyn Workload,
    going: &mut dyn FnMut(Time) -> bool,
) -> Result<Simulated, Halted> {
    let mut engine = Engine::new(target, workload, false);
    engine.begin();
    if engine.run(going) { engine.end().map_err(Halted::Stuck) } else { Err(Halted::GivenUp) }
}

/// Number of events that [`simulate_while`] processes between two calls of `going`. They take less than a millisecond.
pub const EVENTS_BETWEEN: u32 = 1024;

/// Time at which rank `rank` sees the ready word of rank `peer`, counted from the start of the launch. All ranks start at the same time, so
/// this is the time of the launch plus the latency of the word.
#[must_use]
pub fn ready_seen(target: &Target, costs: &PolicyCosts, rank: u32, peer: u32) -> Time {
    costs.launch + Time::from_ns(target.sync.counter_visible_ns) + target.way(rank, peer)
}

/// An event of a lane or a core. Events at the same time are processed in the order of these variants.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Event {
    /// The first member of a memory lane ends, unless the lane has changed since `version`.
    Memory { lane: u32, version: u32 },
    /// The first member of a link lane ends, unless the lane has changed since `version`.
    Link { lane: u32, version: u32 },
    /// A core's put begins to send its bytes.
    Leave { core: u32 },
    /// A core begins to read ahead, or continues to read ahead because its task must wait.
    Ahead { core: u32 },
    /// The task of a core ends.
    End { core: u32 },
    /// All waits of a core's task are over.
    Begin { core: u32 },
}

struct Engine<'a> {
    target: &'a Target,
    workload: &'a dyn Workload,
    costs: CostModel,
    now: Time,
    events: BinaryHeap<Reverse<(Time, Event)>>,
    cores: Vec<CoreState>,
    counters: Counters,
    memories: Memories,
    links: Links,
    tally: Tally,
    slices: Option<Vec<TaskTimes>>,
    woken: Vec<u32>,
    /// End time of the last core.
    end: Time,
    /// Latest end of a task so far.
    reached: Time,
    visible: Time,
}

impl<'a> Engine<'a> {
    fn new(target: &'a Target, workload: &'a dyn Workload, slices: bool) -> Self {
        let ranks = workload.ranks();
        let mut cores = Vec::new();
        for rank in 0..ranks {
            for kind in [CoreKind::Aic, CoreKind::Aiv] {
                cores.extend((0..workload.cores(kind)).map(|number| CoreState::new(rank, kind, number)));
            }
        }
        Self {
            costs: CostModel::new(target),
            now: Time::ZERO,
            events: BinaryHeap::new(),
            counters: Counters::new(workload, cores.len() as u32),
            memories: Memories::new(target, ranks),
            links: Links::new(target, ranks),
            tally: Tally::new(workload),
            slices: slices.then(Vec::new),
            woken: Vec::new(),
            end: Time::ZERO,
            reached: Time::ZERO,
            visible: Time::from_ns(target.sync.counter_visible_ns),
            target,
            workload,
            cores,
        }
    }

    fn begin(&mut self) {
        let launch = self.workload.costs().launch;
        self.now = launch;
        for core in 0..self.cores.len() as u32 {
            let state = &mut self.cores[core as usize];
            state.next = Upcoming::first(self.workload, (state.rank, state.kind, state.number));
            self.tally.spent(self.cores[core as usize].kind).launch += launch;
            self.next_task(core, launch);
        }
    }

    /// Processes all events and returns true. Returns false as soon as `going` returns false.
    fn run(&mut self, going: &mut dyn FnMut(Time) -> bool) -> bool {
        let mut happened = 0;
        while let Some(Reverse((time, event))) = self.events.pop() {
            happened += 1;
            if happened == EVENTS_BETWEEN {
                happened = 0;
                if !going(self.reached) {
                    return false;
                }
            }
            self.now = time;
            self.happen(event);
            if self.events.peek().is_none_or(|Reverse((next, _))| *next > time) {
                let events = &mut self.events;
                self.memories.settle(time, |end, lane, version| {
                    events.push(Reverse((end, Event::Memory { lane, version })));
                });
                self.links.settle(time, |end, lane, version| {
                    events.push(Reverse((end, Event::Link { lane, version })));
                });
            }
        }
        true
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Memory { lane, version } => {
                if version == self.memories.version(lane) {
                    while let Some(member) = self.memories.pop(self.now, lane) {
                        self.ended(member);
                    }
                }
            }
            Event::Link { lane, version } => {
                if version == self.links.version(lane) {
                    while let Some(core) = self.links.pop(self.now, lane) {
                        self.landed(core);
                    }
                }
            }
            Event::Ahead { core } => self.read_ahead(core),
            Event::Leave { core } => self.work(core),
            Event::End { core } => self.done(core),
            Event::Begin { core } => self.start(core),
        }
    }

    /// Takes the next task from a core's queue, at time `at` or later. If there is none, the core is done.
    fn next_task(&mut self, number: u32, at: Time) {
        let core = &mut self.cores[number as usize];
        let (found, entries) = core.next.take(self.workload, (core.rank, core.kind, core.number), &mut core.task);
        let costs = self.workload.costs();
        let read = costs.entry * u64::from(entries.late + entries.early);
        if !found {
            core.done = true;
            self.tally.spent(core.kind).overhead += read;
            self.tally.core_done(number, core.rank, at + read);
            self.end = self.end.max(at + read);
            return;
        }
        let fixed = read + costs.before(core.kind, &core.task);
        self.tally.spent(core.kind).overhead += fixed;
        core.came = at;
        core.looked = at + fixed;
        core.looks = core.looked;
        core.held = 0;
        if let Some(peer) = core.task.awaits_ready {
            let until = core.looks.max(ready_seen(self.target, costs, core.rank, peer));
            self.tally.spent(core.kind).communication += until - core.looks;
            core.looks = until;
        }
        let known = at + costs.entry * u64::from(entries.late);
        self.look(number);
        self.reads_from(number, known);
    }

    /// Checks the waits of a core's task in order, up to the first that has not ended.
    fn look(&mut self, number: u32) {
        let core = &mut self.cores[number as usize];
        let poll = self.workload.costs().of_core(core.kind).poll;
        while let Some(&wait) = core.task.waits.get(core.held) {
            let Some((seen, cause)) = self.counters.look(core.rank, wait, number) else { return };
            let until = look_at(core.looks, seen, poll);
            let spent = self.tally.spent(core.kind);
            match cause {
                WaitCause::Work => spent.dependency += until - core.looks,
                WaitCause::Put => spent.communication += until - core.looks,
            }
            core.looks = until;
            core.held += 1;
        }
        self.events.push(Reverse((core.looks, Event::Begin { core: number })));
    }

    /// Begins a core's task, whose waits have all ended.
    fn start(&mut self, number: u32) {
        self.take_off_read(number);
        let core = &mut self.cores[number as usize];
        core.begun = self.now;
        core.alone = self.costs.alone(core.rank, &core.task.work);
        core.fixed = Time::ZERO;
        if let Work::Put { .. } = core.task.work {
            let start = self.workload.costs().put_start;
            core.fixed = start + core.task.fence(self.target, core.rank);
            self.events.push(Reverse((self.now + start, Event::Leave { core: number })));
        } else {
            self.work(number);
        }
    }

    fn work(&mut self, number: u32) {
        let core = &self.cores[number as usize];
        match self.costs.cost(core.rank, &core.task.work) {
            Cost::Nothing => self.done(number),
            Cost::Alone(time) => self.events.push(Reverse((self.now + time, Event::End { core: number }))),
            Cost::Shared(shared) => self.memories.join(self.now, core.rank, &shared, number),
            Cost::Link { to, bytes } => {
                self.memories.put_begins((core.rank, to));
                self.links.join(self.now, (core.rank, to), bytes, number);
            }
        }
    }

    /// Ends the use of the link by a core's put. Its fence, if it has one, ends when the rows have arrived.
    fn landed(&mut self, number: u32) {
        let core = &self.cores[number as usize];
        if let Work::Put { to, .. } = core.task.work {
            self.memories.put_ends((core.rank, to));
        }
        let fence = core.task.fence(self.target, core.rank);
        self.events.push(Reverse((self.now + fence, Event::End { core: number })));
    }

    fn done(&mut self, number: u32) {
        // Not set for every event, because a stale event of a lane may come after the last task.
        self.reached = self.now;
        let core = &self.cores[number as usize];
        let took = self.now - core.begun;
        let signalling = self.workload.costs().signal * core.task.signals.len().saturating_sub(1) as u64;
        let spent = self.tally.spent(core.kind);
        spent.overhead += core.fixed + signalling;
        spent.work += core.alone;
        spent.contention += took.since(core.alone + core.fixed);
        self.tally.add_task(core.rank, &core.task, (core.begun, self.now));
        if let Some(slices) = &mut self.slices {
            slices.push(core.slice(self.now));
        }
        self.signal(number);
        self.next_task(number, self.now + signalling);
    }

    fn signal(&mut self, number: u32) {
        let core = &self.cores[number as usize];
        let cause = if matches!(core.task.work, Work::Put { .. }) { WaitCause::Put } else { WaitCause::Work };
        let gap = self.workload.costs().signal;
        for (place, signal) in (0..).zip(&core.task.signals) {
            let seen = self.now + gap * place + self.visible + self.target.way(core.rank, signal.rank);
            self.counters.signal(signal, seen, cause, &mut self.woken);
        }
        while let Some(core) = self.woken.pop() {
            self.look(core);
        }
    }

    fn end(self) -> Result<Simulated, Stuck> {
        let mut stuck = self.cores.iter().filter(|core| !core.done);
        if let Some(core) = stuck.next() {
            let wait = core.task.waits[core.held];
            return Err(Stuck {
                cores: 1 + stuck.count() as u32,
                rank: core.rank,
                kind: core.kind,
                core: core.number,
                op: self.workload.ops()[core.task.op as usize].name.clone(),
                counter: wait.counter,
                need: wait.need,
            });
        }
        let kinds = self.cores.iter().map(|core| core.kind);
        Ok(self.tally.finish(self.end, kinds, self.slices.unwrap_or_default()))
    }
}
