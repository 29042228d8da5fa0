//! The results of a simulation.

use super::{CoreKind, Spent, Time};
use hpmoe_core::target::Target;
use std::fmt;

/// The result of a simulated run of all ranks. It is never a measurement.
#[derive(Clone, PartialEq, Debug)]
pub struct Simulated {
    /// Latency: the time from the launch until the last core of all ranks has ended.
    pub time: Time,
    /// For each rank, the time at which its last core ends.
    pub ranks: Vec<Time>,
    /// How the matrix cores of all ranks spend their time.
    pub aic: Spent,
    /// How the vector cores of all ranks spend their time.
    pub aiv: Spent,
    /// Number of tasks, including empty ones but not the steps of making a route.
    pub tasks: u64,
    /// Number of tasks without work.
    pub empty_tasks: u64,
    /// FLOPs of products, without padding.
    pub flops: f64,
    /// FLOPs of int8 products, a part of `flops`.
    pub int8_flops: f64,
    /// Bytes put, by source rank and then by destination rank.
    pub traffic: Vec<Vec<u64>>,
    /// Totals for each operation of the workload.
    pub ops: Vec<OpTotal>,
    /// The times of every task, if they were requested; otherwise empty.
    pub slices: Vec<TaskTimes>,
}

/// The tasks of one operation and their time.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct OpTotal {
    /// Number of tasks, including empty ones.
    pub tasks: u64,
    /// Sum over tasks of the core time from the end of the task's waits to its end.
    pub time: Time,
    /// The start of the first task and the end of the last task; `None` if the operation has no tasks.
    pub span: Option<(Time, Time)>,
}

/// The core and the times of one task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TaskTimes {
    /// The rank of the core.
    pub rank: u32,
    /// The kind of core.
    pub kind: CoreKind,
    /// The number of the core among those of its kind on the rank.
    pub core: u32,
    /// Number of the task's operation, an index of [`Workload::ops`](super::Workload::ops).
    pub op: u32,
    /// Number of the group that the task belongs to, as the workload numbers groups.
    pub group: u32,
    /// Number of the item within the group.
    pub item: u32,
    /// Number of the column within the item.
    pub column: u32,
    /// Time at which the core reached the task.
    pub came: Time,
    /// Time at which the core first read a counter that the task waits for. The time from `came` to `looked` is overhead.
    pub looked: Time,
    /// Time at which the work began.
    pub begun: Time,
    /// Time at which the work ended.
    pub end: Time,
}

/// A workload that can't continue because a core waits for a counter that no task will signal.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stuck {
    /// Number of cores that wait, over all ranks.
    pub cores: u32,
    /// The rank of the first waiting core, which the other fields are about.
    pub rank: u32,
    /// The kind of the first waiting core.
    pub kind: CoreKind,
    /// Number of the first waiting core among the cores of its kind on its rank.
    pub core: u32,
    /// Name of the operation whose task the first waiting core has reached.
    pub op: String,
    /// Number of the counter that the first waiting core waits for.
    pub counter: u32,
    /// The threshold of the wait: a value that the counter never reaches.
    pub need: u32,
}

/// The reason why a simulation has no result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Halted {
    /// The workload can't continue.
    Stuck(Stuck),
    /// The caller stopped the simulation.
    GivenUp,
}

impl TaskTimes {
    /// Whether another task ran on the same core.
    pub(super) fn is_on_core_of(&self, other: &Self) -> bool {
        (self.rank, self.kind, self.core) == (other.rank, other.kind, other.core)
    }
}

impl Simulated {
    /// The rank that ends last; if several end at the same time, the one with the lowest number.
    #[must_use]
    pub fn last_rank(&self) -> u32 {
        let last = self.ranks.iter().enumerate().max_by_key(|&(rank, time)| (time, std::cmp::Reverse(rank)));
        last.map_or(0, |(rank, _)| rank as u32)
    }

    /// Share of the latency that all matrix cores would need for the FLOPs alone: at fused efficiency, or for int8 products at their
    /// efficiency.
    #[must_use]
    pub fn aic_useful(&self, target: &Target) -> f64 {
        let int8 = target.int8_flops() * f64::from(target.cores.aic);
        let needed = (self.flops - self.int8_flops) / target.fused_flops() + self.int8_flops / int8;
        let possible = self.time.seconds() * self.ranks.len() as f64;
        if possible > 0.0 { needed / possible } else { 0.0 }
    }

    /// Number of bytes put from one rank to another, over all ranks.
    #[must_use]
    pub fn remote_bytes(&self) -> u64 {
        let rows = self.traffic.iter().enumerate();
        rows.map(|(from, row)| row.iter().sum::<u64>() - row[from]).sum()
    }
}

impl fmt::Display for Stuck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            CoreKind::Aic => "matrix",
            CoreKind::Aiv => "vector",
        };
        write!(
            f,
            "{} cores wait for ever, among them {kind} core {} of rank {} in {}: counter {} never reaches {}",
            self.cores, self.core, self.rank, self.op, self.counter, self.need
        )
    }
}

impl fmt::Display for Halted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stuck(stuck) => stuck.fmt(f),
            Self::GivenUp => f.write_str("the simulation was given up"),
        }
    }
}

impl std::error::Error for Stuck {}

impl std::error::Error for Halted {}
