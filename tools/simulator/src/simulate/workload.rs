//! Workloads for the engine: an ordered queue of tasks for each core, whatever policy made it.
//!
//! The engine asks for one task at a time, in the order of the queue. A workload can thus make tasks when they are needed, and never holds
//! millions of them.

use super::{Ahead, CoreKind, Time, Work};
use hpmoe_core::target::Target;

/// The queues of all cores of all ranks.
pub trait Workload {
    /// The policy, and its costs in addition to the tasks' work.
    fn costs(&self) -> &PolicyCosts;

    /// Number of ranks in the group.
    fn ranks(&self) -> u32;

    /// Number of cores of a kind on each rank.
    fn cores(&self, kind: CoreKind) -> u32;

    /// Number of counters of a rank. All counters start at zero. A task waits for counters of its own rank.
    fn counters(&self, rank: u32) -> u32;

    /// The operations of the workload. [`QueuedTask::op`] is an index of this list.
    fn ops(&self) -> &[Op];

    /// Writes the next task of a core's queue to `task`, advances `cursor` and returns true. At the end of the queue, returns false;
    /// `task.entries` is then the number of entries that the core has read since its last task.
    ///
    /// `task` holds the core's previous task: an implementation sets every field, and clears `waits` and `signals` first.
    fn next(&self, rank: u32, kind: CoreKind, core: u32, cursor: &mut Cursor, task: &mut QueuedTask) -> bool;

    /// The least work of a task, for lower bounds: its work if tiles were in the order that moves the fewest bytes through HBM, and the
    /// maximum part of that work that its core can read before the task begins. By default, the task's own `work` and `ahead`.
    fn least(&self, _rank: u32, task: &QueuedTask) -> (Work, Ahead) {
        (task.work, task.ahead)
    }
}

/// The position of a core in its queue, in the workload's own numbering. All fields are zero at the start of the queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Cursor {
    /// Number of the entry, of the position in the queue, or of the step, depending on the workload.
    pub entry: u32,
    /// Number of the tile or part within the entry.
    pub tile: u64,
    /// Number of steps of making the route that the core has done; 0 if the kernel doesn't make its route.
    pub route: u32,
    /// Number of the turn, if entries take turns with one another.
    pub turn: u32,
    /// One bit per rank: set if the core has read the rank's ready word.
    pub ready: [u64; 4],
}

/// An operation of a workload: a call of a task, or an operator.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Op {
    /// Name in tables and pictures.
    pub name: String,
    /// Line of the call in the user's source; 0 if there is none.
    pub line: usize,
    /// Whether the operation's tasks are tiles of the kernel, which tables count. Otherwise they are steps of making the route, which cores
    /// do between tiles.
    pub tiles: bool,
}

/// The policy that plans and runs a layer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Policy {
    /// hpmoe's own schedule.
    Ours,
    /// HyperParallel-MoE: its tasks, queues, counters and polling.
    Hyperparallel,
    /// One operator after another, each on the whole device.
    Serial,
}

impl Policy {
    /// All policies, in the order in which tables list them.
    pub const ALL: [Self; 3] = [Self::Ours, Self::Hyperparallel, Self::Serial];

    /// The policy's name on the command line, in tables and in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ours => "ours",
            Self::Hyperparallel => "hyperparallel",
            Self::Serial => "serial",
        }
    }
}

/// The costs of a policy, in addition to the tasks' work.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PolicyCosts {
    /// The policy that has these costs.
    pub policy: Policy,
    /// Time from the launch until cores reach their first tasks.
    pub launch: Time,
    /// Costs of each task on a matrix core.
    pub aic: CoreCosts,
    /// Costs of each task on a vector core.
    pub aiv: CoreCosts,
    /// Cost of each queue entry that a core reads.
    pub entry: Time,
    /// Cost of each wait of a task after the first, in addition to [`CoreCosts::task`].
    pub wait: Time,
    /// Time between consecutive signals of a task.
    pub signal: Time,
    /// Time from the end of a put's waits until its first bytes are sent.
    pub put_start: Time,
}

impl PolicyCosts {
    /// Costs of each task on one kind of core.
    #[must_use]
    pub const fn of_core(&self, kind: CoreKind) -> &CoreCosts {
        match kind {
            CoreKind::Aic => &self.aic,
            CoreKind::Aiv => &self.aiv,
        }
    }

    /// Overhead of a task from the time when the core reaches it until the core reads the task's first counter, without the costs of
    /// entries.
    #[must_use]
    pub fn before(&self, kind: CoreKind, task: &QueuedTask) -> Time {
        let costs = self.of_core(kind);
        let waits = task.waits.len() + usize::from(task.awaits_ready.is_some());
        costs.least(task) + self.wait * waits.saturating_sub(1) as u64
    }
}

/// The costs of each task on a core, in addition to its work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CoreCosts {
    /// Overhead before the work: pickup, reading the descriptor, checks of waits that have already ended, signals. The core
    /// spends it when it arrives at the task, while data may still be in transit.
    pub task: Time,
    /// Overhead of a task without work ([`Work::Empty`]), instead of `task`.
    pub empty: Time,
    /// Interval at which a waiting core reads the counter that it waits for, counted from the start of the wait; `None` if it reads the
    /// counter all the time.
    pub poll: Option<Time>,
    /// Maximum number of queue entries that the core reads ahead to find its next task.
    pub entries_ahead: u32,
}

impl CoreCosts {
    /// The part of a task's overhead that is the same in any order of tasks: `empty` or `task`.
    #[must_use]
    pub fn least(&self, task: &QueuedTask) -> Time {
        if task.work == Work::Empty { self.empty } else { self.task }
    }
}

/// A wait for a counter of the task's own rank.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CounterWait {
    /// Number of the counter on the task's rank.
    pub counter: u32,
    /// The threshold: the wait ends when the counter reaches it.
    pub need: u32,
}

/// A signal at the end of a task. Waiting cores see it after `sync.counter_visible_ns`; on another rank, the latency of the
/// link is added.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CounterSignal {
    /// The rank of the counter.
    pub rank: u32,
    /// Number of the counter on that rank.
    pub counter: u32,
    /// The amount that is added to the counter.
    pub amount: u32,
}

/// A task in the queue of a core.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct QueuedTask {
    /// Number of the task's operation.
    pub op: u32,
    /// Number of the group that the task belongs to, as the workload counts groups. Only pictures and exports use it.
    pub group: u32,
    /// Number of the item within the group. Only pictures and exports use it.
    pub item: u32,
    /// Number of the column within the item. Only pictures and exports use it.
    pub column: u32,
    /// Number of queue entries that the core has read since the previous task.
    pub entries: u32,
    /// The rank whose ready word the task waits for: set if the task is the core's first put to that rank.
    pub awaits_ready: Option<u32>,
    /// The task's work, which the cost model turns into time.
    pub work: Work,
    /// The part of the work, in bytes, that the core can read before the task begins, if there is time.
    pub ahead: Ahead,
    /// The task's waits. All of them end before the work begins.
    pub waits: Vec<CounterWait>,
    /// Whether the task is a put without a fence of its own: the next task of its core puts to the same rank, with a fence for both.
    pub shares_next_fence: bool,
    /// The task's signals, given when the work is done.
    pub signals: Vec<CounterSignal>,
}

impl QueuedTask {
    /// The time of the task's fence on a core of `rank`; zero unless the task puts to another rank and has a fence of its own.
    #[must_use]
    pub fn fence(&self, target: &Target, rank: u32) -> Time {
        match self.work {
            Work::Put { to, .. } if to != rank && !self.shares_next_fence => Time::from_ns(target.sync.fence_remote_ns),
            _ => Time::ZERO,
        }
    }
}
