//! What a simulation tells.

use super::{CoreKind, Spent, Time};
use hpmoe_codegen::target::Target;
use std::fmt;

/// A simulated run of all ranks. Never a measurement.
#[derive(Clone, PartialEq, Debug)]
pub struct Simulated {
    /// From the launch until the last core of all ranks is done.
    pub time: Time,
    /// When the last core of each rank is done.
    pub ranks: Vec<Time>,
    /// Where the time of matrix cores goes, all ranks together.
    pub aic: Spent,
    /// The same for vector cores.
    pub aiv: Spent,
    /// Tasks run, those without work among them.
    pub tasks: u64,
    /// Tasks without work.
    pub empty_tasks: u64,
    /// Of products, without padding.
    pub flops: f64,
    /// Bytes put, by source and then destination.
    pub traffic: Vec<Vec<u64>>,
    /// By operation of the program.
    pub ops: Vec<OpTotal>,
    /// Every task, where asked for.
    pub slices: Vec<TaskTimes>,
}

/// What one operation took.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct OpTotal {
    /// Tasks, those without work among them.
    pub tasks: u64,
    /// Time of cores, from the moment at which all waits held.
    pub time: Time,
    /// From the first core that began to the last one that ended.
    pub span: Option<(Time, Time)>,
}

/// One task of one core.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TaskTimes {
    /// Which rank.
    pub rank: u32,
    /// Which kind of core.
    pub kind: CoreKind,
    /// Which of its cores.
    pub core: u32,
    /// The operation.
    pub op: u32,
    /// Group, item and column as the program numbers them.
    pub group: u32,
    /// Item.
    pub item: u32,
    /// Column.
    pub column: u32,
    /// When the core came to it.
    pub came: Time,
    /// When it first looked whether it has to wait: what lies before is overhead.
    pub looked: Time,
    /// When its work began.
    pub begun: Time,
    /// When it was done.
    pub end: Time,
}

/// A program that can't go on: a core waits for what nobody will signal.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stuck {
    /// Cores that wait, of all ranks.
    pub cores: u32,
    /// One of them.
    pub rank: u32,
    /// Its kind.
    pub kind: CoreKind,
    /// Its number.
    pub core: u32,
    /// The operation of its task.
    pub op: String,
    /// What it waits for.
    pub counter: u32,
    /// How much it needs.
    pub need: u32,
}

impl Simulated {
    /// FLOPs over the peak at fused efficiency for the whole latency of all ranks.
    #[must_use]
    pub fn aic_useful(&self, target: &Target) -> f64 {
        let possible = target.fused_flops() * self.time.seconds() * self.ranks.len() as f64;
        if possible > 0.0 { self.flops / possible } else { 0.0 }
    }

    /// Bytes put from one rank to another, all together.
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

impl std::error::Error for Stuck {}
