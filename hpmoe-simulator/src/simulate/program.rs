//! What the engine runs: for each core an ordered queue of tasks, whatever policy made it.
//!
//! Tasks are asked for one at a time, in the order of the queue, so that a program may make them on the way and need
//! not hold millions of them.

use super::{CoreKind, Time, Work};

/// Queues of all cores of all ranks.
pub trait Program {
    /// The policy, and what it costs in addition to the work.
    fn costs(&self) -> &PolicyCosts;

    /// Ranks of the group.
    fn ranks(&self) -> u32;

    /// Cores of that kind on each rank.
    fn cores(&self, kind: CoreKind) -> u32;

    /// Counters of a rank, all zero at the start. Waits look at the own rank's.
    fn counters(&self, rank: u32) -> u32;

    /// Operations by number, for [`QueuedTask::op`].
    fn ops(&self) -> &[Op];

    /// Writes the next task of a core's queue to `task` and moves `cursor` behind it; false at the end of the queue.
    ///
    /// `task` comes with the last task of that core in it: set every field, clear `waits` and `signals` first.
    fn next(&self, rank: u32, kind: CoreKind, core: u32, cursor: &mut Cursor, task: &mut QueuedTask) -> bool;
}

/// How far a core is in its queue; what the numbers mean is the program's own business. Zeros at the start.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Cursor {
    /// For instance, the entry.
    pub entry: u32,
    /// For instance, the tile in the entry.
    pub tile: u64,
}

/// An operation of the program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Op {
    /// Name, as tables and pictures show it.
    pub name: String,
    /// Line in the user's source, or 0.
    pub line: usize,
    /// Whether the original leaves this work to kernels of its own (permutation, sum over k): reported apart.
    pub extra: bool,
}

/// Who plans and runs a layer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Policy {
    /// The schedule that hpmoe builds.
    Ours,
    /// HyperParallel-MoE: its tasks, queues, counters and polling.
    Hyperparallel,
    /// One operator after another over the whole device.
    Serial,
}

impl Policy {
    /// All policies, in the order in which tables list them.
    pub const ALL: [Self; 3] = [Self::Ours, Self::Hyperparallel, Self::Serial];

    /// The name on the command line, in tables and in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ours => "ours",
            Self::Hyperparallel => "hyperparallel",
            Self::Serial => "serial",
        }
    }
}

/// What a policy costs in addition to the work itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PolicyCosts {
    /// The policy.
    pub policy: Policy,
    /// The time from the launch until cores come to their first tasks.
    pub launch: Time,
    /// Costs of each task on a matrix core.
    pub aic: CoreCosts,
    /// Costs of each task on a vector core.
    pub aiv: CoreCosts,
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
}

/// What tasks cost a core beside their work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CoreCosts {
    /// Before the work of a task: pickup, reading its descriptor, checks of waits that hold already, signals. The core
    /// pays it when it has come to the task, while the data may still be on their way.
    pub task: Time,
    /// The whole of a task without work ([`Work::Empty`]), instead of `task`.
    pub empty: Time,
    /// A waiting core looks at its counter at the start of the wait and then in these intervals; without, it looks all
    /// the time.
    pub poll: Option<Time>,
}

/// A wait for a counter of the own rank.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CounterWait {
    /// Which counter.
    pub counter: u32,
    /// How much is enough.
    pub need: u32,
}

/// A signal at the end of a task; seen by waiting cores `sync.counter_visible_ns` later, and on another rank after the
/// link's latency too.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CounterSignal {
    /// Whose counter.
    pub rank: u32,
    /// Which counter.
    pub counter: u32,
    /// How much is added.
    pub amount: u32,
}

/// One task of a core's queue.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct QueuedTask {
    /// Number of its operation.
    pub op: u32,
    /// Local expert, or the group's number in the program's own terms; for pictures.
    pub group: u32,
    /// Item of the group; for pictures.
    pub item: u32,
    /// Column of the item; for pictures.
    pub column: u32,
    /// What it does.
    pub work: Work,
    /// All must hold before the work begins.
    pub waits: Vec<CounterWait>,
    /// Given when the work is done.
    pub signals: Vec<CounterSignal>,
}
