//! The event loop.

use super::counters::{Counters, WaitCause};
use super::links::Links;
use super::memories::Memories;
use super::result::{Simulated, Stuck, TaskTimes};
use super::tally::Tally;
use super::{CoreKind, Cursor, QueuedTask, Time, Work, Workload};
use super::{Cost, CostModel};
use hpmoe_codegen::target::Target;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Runs a workload on a target. With `timeline`, the result holds the times of every task.
///
/// # Errors
///
/// When cores wait for counters that no task will signal.
pub fn simulate(target: &Target, workload: &dyn Workload, slices: bool) -> Result<Simulated, Stuck> {
    let mut engine = Engine::new(target, workload, slices);
    engine.begin();
    engine.run();
    engine.end()
}

/// An event of a lane or a core. The order of variants is that of events at the same time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Event {
    /// The first member of a lane of a die's memories ends, unless the lane has changed since that version.
    Memory { lane: u32, version: u32 },
    /// The first member of a lane of the links ends, unless the lane has changed since that version.
    Link { lane: u32, version: u32 },
    /// The task of a core ends.
    End { core: u32 },
    /// All waits of a core's task are over.
    Begin { core: u32 },
}

/// A core and its task.
struct CoreState {
    rank: u32,
    kind: CoreKind,
    number: u32,
    cursor: Cursor,
    task: QueuedTask,
    /// The number of the task's waits that are over.
    held: usize,
    /// When the core looks at the next wait's counter.
    looks: Time,
    came: Time,
    looked: Time,
    begun: Time,
    alone: Time,
    done: bool,
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
    visible: Time,
    fence: Time,
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
            visible: Time::from_ns(target.sync.counter_visible_ns),
            fence: Time::from_ns(target.sync.fence_remote_ns),
            target,
            workload,
            cores,
        }
    }

    fn begin(&mut self) {
        let launch = self.workload.costs().launch;
        self.now = launch;
        for core in 0..self.cores.len() as u32 {
            self.tally.spent(self.cores[core as usize].kind).launch += launch;
            self.next_task(core);
        }
    }

    fn run(&mut self) {
        while let Some(Reverse((time, event))) = self.events.pop() {
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
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Memory { lane, version } => {
                if version == self.memories.version(lane) {
                    while let Some(core) = self.memories.pop(self.now, lane) {
                        self.done(core);
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
            Event::End { core } => self.done(core),
            Event::Begin { core } => self.work(core),
        }
    }

    /// Takes the next task of a core's queue, if there is one.
    fn next_task(&mut self, number: u32) {
        let core = &mut self.cores[number as usize];
        if !self.workload.next(core.rank, core.kind, core.number, &mut core.cursor, &mut core.task) {
            core.done = true;
            self.tally.core_done(number, core.rank, self.now);
            return;
        }
        let costs = self.workload.costs().of_core(core.kind);
        let fixed = if core.task.work == Work::Empty { costs.empty } else { costs.task };
        self.tally.spent(core.kind).overhead += fixed;
        core.came = self.now;
        core.looked = self.now + fixed;
        core.looks = core.looked;
        core.held = 0;
        self.look(number);
    }

    /// Goes through the waits of a core's task up to the first that is not over.
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

    fn work(&mut self, number: u32) {
        let core = &mut self.cores[number as usize];
        core.begun = self.now;
        let cost = self.costs.cost(core.rank, &core.task.work);
        core.alone = self.costs.alone(core.rank, &core.task.work);
        match cost {
            Cost::Nothing => self.done(number),
            Cost::Alone(time) => self.events.push(Reverse((self.now + time, Event::End { core: number }))),
            Cost::Shared(shared) => self.memories.join(self.now, core.rank, &shared, number),
            Cost::Link { to, bytes } => {
                self.memories.put_begins((core.rank, to));
                self.links.join(self.now, (core.rank, to), bytes, number);
            }
        }
    }

    /// Ends a put's use of the link; the fence that follows ends when its rows have arrived.
    fn landed(&mut self, number: u32) {
        let core = &self.cores[number as usize];
        if let Work::Put { to, .. } = core.task.work {
            self.memories.put_ends((core.rank, to));
        }
        self.events.push(Reverse((self.now + self.fence, Event::End { core: number })));
    }

    fn done(&mut self, number: u32) {
        let core = &self.cores[number as usize];
        let fence = match core.task.work {
            Work::Put { to, .. } if to != core.rank => self.fence,
            _ => Time::ZERO,
        };
        let took = self.now - core.begun;
        let spent = self.tally.spent(core.kind);
        spent.overhead += fence;
        spent.work += core.alone;
        spent.contention += took.since(core.alone + fence);
        self.tally.add_task(core.rank, &core.task, (core.begun, self.now));
        if let Some(slices) = &mut self.slices {
            slices.push(core.slice(self.now));
        }
        self.signal(number);
        self.next_task(number);
    }

    fn signal(&mut self, number: u32) {
        let core = &self.cores[number as usize];
        let cause = if matches!(core.task.work, Work::Put { .. }) { WaitCause::Put } else { WaitCause::Work };
        for signal in &core.task.signals {
            let way = if signal.rank == core.rank {
                0.0
            } else if self.target.same_package(signal.rank, core.rank) {
                self.target.link.same_package_ns
            } else {
                self.target.link.other_package_ns
            };
            let seen = self.now + self.visible + Time::from_ns(way);
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
        Ok(self.tally.finish(self.now, kinds, self.slices.unwrap_or_default()))
    }
}

/// When a core that looks at a counter from `looks` on sees a signal that is visible from `seen` on.
fn look_at(looks: Time, seen: Time, poll: Option<Time>) -> Time {
    match poll {
        _ if seen <= looks => looks,
        Some(poll) if poll > Time::ZERO => looks + poll * (seen - looks).0.div_ceil(poll.0),
        _ => seen,
    }
}

impl CoreState {
    fn new(rank: u32, kind: CoreKind, number: u32) -> Self {
        Self {
            rank,
            kind,
            number,
            cursor: Cursor::default(),
            task: QueuedTask::default(),
            held: 0,
            looks: Time::ZERO,
            came: Time::ZERO,
            looked: Time::ZERO,
            begun: Time::ZERO,
            alone: Time::ZERO,
            done: false,
        }
    }

    fn slice(&self, end: Time) -> TaskTimes {
        let QueuedTask { op, group, item, column, .. } = self.task;
        let (rank, kind, core) = (self.rank, self.kind, self.number);
        let Self { came, looked, begun, .. } = *self;
        TaskTimes { rank, kind, core, op, group, item, column, came, looked, begun, end }
    }
}
