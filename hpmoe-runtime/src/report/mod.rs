//! What a launch did.

mod site;
mod stuck;

pub(crate) use site::Site;
pub use stuck::{CoreReport, StuckReport};

use std::fmt;
use std::time::Duration;

use crate::KernelTables;
use crate::abi::{HpmoeDescriptor, HpmoeRecord};
use crate::backend::host::{HostStatistics, LIMITS};

/// What a launch did on all ranks. Of several launches in a row, the last one, except for `wall` and `host`.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Report {
    /// The kernel.
    pub kernel: &'static str,
    /// Ranks of the group.
    pub ranks: usize,
    /// Launches in a row.
    pub launches: u32,
    /// Task bodies entered.
    pub tasks: u64,
    /// Of them, those without rows, columns or contraction; the schedule promises none.
    pub empty_tasks: u64,
    /// Counters looked at.
    pub waits: u64,
    /// Matrix cores that ran a task, on the rank with the fewest.
    pub aic_cores_used: usize,
    /// Vector cores that ran a task, on the rank with the fewest.
    pub aiv_cores_used: usize,
    /// Matrix and vector cores that ran a task, on each rank.
    pub cores_used: Vec<(usize, usize)>,
    /// Counters of a rank, in one of the two sets.
    pub counters: u32,
    /// Bytes of a descriptor.
    pub descriptor_bytes: usize,
    /// Time of all launches on this machine, from the first rank's start to the last one's end.
    pub wall: Duration,
    /// What the host run counted, over all ranks and launches.
    pub host: HostStatistics,
}

impl Report {
    /// From the records of each rank.
    pub(crate) fn new(
        tables: &KernelTables,
        records: &[Vec<HpmoeRecord>],
        launches: u32,
        counters: u32,
        wall: Duration,
        host: HostStatistics,
    ) -> Self {
        let sum = |of: fn(&HpmoeRecord) -> u32| records.iter().flatten().map(|r| u64::from(of(r))).sum();
        let used = |cores: &[HpmoeRecord]| cores.iter().filter(|r| r.tasks > 0).count();
        let split = |cores: &Vec<HpmoeRecord>| {
            let (aic, aiv) = cores.split_at(tables.aic as usize);
            (used(aic), used(aiv))
        };
        let cores_used: Vec<(usize, usize)> = records.iter().map(split).collect();
        Self {
            kernel: tables.name,
            ranks: records.len(),
            launches,
            tasks: sum(|r| r.tasks),
            empty_tasks: sum(|r| r.empty),
            waits: sum(|r| r.waits),
            aic_cores_used: cores_used.iter().map(|used| used.0).min().unwrap_or(0),
            aiv_cores_used: cores_used.iter().map(|used| used.1).min().unwrap_or(0),
            cores_used,
            counters,
            descriptor_bytes: size_of::<HpmoeDescriptor>(),
            wall,
            host,
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kernel, ranks, launches, tasks, empty_tasks, waits, counters, .. } = self;
        writeln!(f, "{kernel}: {launches} launch(es) on {ranks} rank(s) in {:.1?}", self.wall)?;
        writeln!(f, "  {tasks} tasks, {empty_tasks} empty; {counters} counters a rank, looked at {waits} times")?;
        writeln!(
            f,
            "  at least {} matrix and {} vector cores at work on each rank",
            self.aic_cores_used, self.aiv_cores_used
        )?;
        write!(f, "  {LIMITS}")
    }
}
