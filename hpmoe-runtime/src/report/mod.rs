//! Reports of launches.

mod core;
mod site;
mod stuck;
mod trace;
mod words;

pub use core::CoreReport;
pub(crate) use site::TaskSite;
use site::chunks_of;
pub use stuck::StuckReport;
pub use trace::{ClockOffset, CoreTrace, RankTrace, TileTrace, Trace};

use std::fmt;
use std::time::{Duration, SystemTime};

use crate::KernelTables;
use crate::abi::{HpmoeDescriptor, HpmoeRecord};
use crate::backend::host::{HostStatistics, LIMITS, UNCHECKED};
use crate::bootstrap::Strangers;
use crate::tables::{ExternalTable, ToleranceTable};
use words::between;
pub(crate) use words::{counted, size_text};

/// A report of a launch on all ranks. After several launches in a row it describes the last one; only `wall` and `host`
/// cover all of them.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Report {
    /// Name of the kernel and its taskflow, `module::taskflow`.
    pub kernel: &'static str,
    /// Number of ranks in the group.
    pub ranks: usize,
    /// Number of launches in the row; 1 for a single launch.
    pub launches: u32,
    /// Number of task bodies that were run.
    pub tasks: u64,
    /// Number of task bodies without rows or without columns. The schedule guarantees zero.
    pub empty_tasks: u64,
    /// Number of times that a core waited for a counter, or found the counter complete at once, over all cores.
    pub waits: u64,
    /// Number of matrix cores that ran a task, on the rank with the fewest.
    pub aic_cores_used: usize,
    /// Number of vector cores that ran a task, on the rank with the fewest.
    pub aiv_cores_used: usize,
    /// Numbers of matrix and of vector cores that ran a task, on each rank.
    pub cores_used: Vec<(usize, usize)>,
    /// Number of readiness counters in one of a rank's two sets, between which launches alternate.
    pub counters: u32,
    /// Size of a descriptor in bytes.
    pub descriptor_bytes: usize,
    /// Bytes that a rank reserves for the taskflow's own tensors, in its workspace and in the symmetric heap. They
    /// suffice for `capacity_rows` received rows.
    pub workspace_bytes: usize,
    /// Number of received rows of each chunk that a rank has room for.
    pub capacity_rows: usize,
    /// Number of chunks that each rank's tokens were divided into.
    pub chunks: usize,
    /// Maximum number of chunks, if launches choose the number (`chunks_at_most` of the build); `None` if it is a
    /// constant of the kernel.
    pub chunks_at_most: Option<usize>,
    /// The rule that chose `capacity_rows`, in words; `as the group says` if the group sets another number than the default.
    pub capacity_rule: &'static str,
    /// The caller's tensors of received or once-sent rows, which one launch can keep for another: name, and bytes on the rank with the
    /// largest part.
    pub kept: Vec<(&'static str, usize)>,
    /// Tasks with an external operator; [`ran`](Self::ran) says which operators ran.
    pub externals: &'static [ExternalTable],
    /// Results whose bits may differ from the reference's; [`tolerance`](Self::tolerance) gives the limit.
    pub tolerances: &'static [ToleranceTable],
    /// Time on this machine's clock when the first launch began; on NPUs, when the first launch was enqueued.
    pub begun: SystemTime,
    /// Wall-clock time of all launches, from the first rank's start to the last rank's end; for a pending launch, until the program had
    /// waited for it.
    pub wall: Duration,
    /// Counts of the host run, over all ranks and launches; all zero if NPUs ran the kernel.
    pub host: HostStatistics,
    /// Whether NPUs ran the kernel.
    pub on_npus: bool,
    /// Whether the host run was checked (`Group::checks`); always true if NPUs ran the kernel.
    pub checks: bool,
    /// Connections of strangers to rank 0 while the ranks joined, if the ranks are processes.
    pub strangers: Strangers,
    /// The times at which each core ran its tiles; `None` unless the kernel records time stamps (built with `HPMOE_TIME_STAMPS=on`).
    pub trace: Option<Trace>,
}

/// The memory that a launch needs.
#[derive(Clone, Default, Debug)]
pub(crate) struct MemoryUse {
    /// Number of readiness counters in one of a rank's two sets, between which launches alternate.
    pub(crate) counters: u32,
    /// Bytes reserved for the taskflow's tensors, as in [`Report::workspace_bytes`].
    pub(crate) workspace: usize,
    /// Number of received rows that a rank has room for, and the rule that chose it, as in [`Report::capacity_rows`]
    /// and [`Report::capacity_rule`].
    pub(crate) capacity: (usize, &'static str),
    /// Tensors that one launch keeps for another, as in [`Report::kept`].
    pub(crate) kept: Vec<(&'static str, usize)>,
}

impl Report {
    /// Makes the report from the records of every rank.
    pub(crate) fn new(
        tables: &KernelTables,
        records: &[Vec<HpmoeRecord>],
        launches: u32,
        memory: MemoryUse,
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
            counters: memory.counters,
            descriptor_bytes: size_of::<HpmoeDescriptor>(),
            workspace_bytes: memory.workspace,
            capacity_rows: memory.capacity.0,
            chunks: chunks_of(tables, records.iter().flatten()),
            chunks_at_most: tables.chunks_at_most(),
            capacity_rule: memory.capacity.1,
            kept: memory.kept,
            externals: tables.externals,
            tolerances: tables.tolerances,
            begun: SystemTime::UNIX_EPOCH,
            wall,
            host,
            on_npus: false,
            checks: true,
            strangers: Strangers::default(),
            trace: None,
        }
    }

    /// This report, with `strangers` added.
    pub(crate) fn after(self, strangers: Strangers) -> Self {
        Self { strangers, ..self }
    }

    /// This report, marked as that of a host run with or without checks.
    pub(crate) fn with_checks(self, checks: bool) -> Self {
        Self { checks, ..self }
    }

    /// This report, marked as that of NPUs with the chip `chip`.
    pub(crate) fn of_npus(self, chip: String) -> Self {
        Self { on_npus: true, trace: self.trace.map(|trace| Trace { on: chip, ..trace }), ..self }
    }

    /// Whether the operator of `external` ran. A device-only operator does not run on the host; the task's body runs instead.
    #[must_use]
    pub const fn ran(&self, external: &ExternalTable) -> bool {
        self.on_npus || !external.device_only
    }

    /// Bound on the difference between an element of the result `tensor` and the same element of the reference's result, relative to the
    /// largest element of its tile. It follows from the tolerances of the external operators that contribute to the tensor. 0 means equal
    /// bits, as for all tensors without such operators. On NPUs, the cube's order of sums adds to the difference.
    #[must_use]
    pub fn tolerance(&self, tensor: &str) -> f32 {
        let promised = self.tolerances.iter().find(|promised| promised.tensor == tensor);
        promised.map_or(0.0, |promised| if self.on_npus { promised.device } else { promised.host })
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let launches = counted(self.launches.into(), "launch", "launches");
        let ranks = counted(self.ranks as u64, "rank", "ranks");
        writeln!(f, "{}: {launches} on {ranks} in {:.1?}", self.kernel, self.wall)?;
        let empty = if self.empty_tasks == 0 { "none".to_owned() } else { self.empty_tasks.to_string() };
        let last = if self.launches == 1 { "" } else { " in the last launch" };
        writeln!(f, "  {}{last}, {empty} empty", counted(self.tasks, "task", "tasks"))?;
        let aic = between(self.cores_used.iter().map(|used| used.0));
        let aiv = between(self.cores_used.iter().map(|used| used.1));
        writeln!(f, "  {aic} matrix and {aiv} vector cores of each rank had tasks")?;
        let counters = counted(self.counters.into(), "counter", "counters");
        let looks = counted(self.waits, "time", "times");
        writeln!(f, "  {counters} on each rank, read {looks} in all")?;
        write!(f, "  {} of workspace and symmetric tensors reserved on each rank", size_text(self.workspace_bytes))?;
        match self.workspace_bytes {
            0 => writeln!(f)?,
            _ => writeln!(f, ", for {} received rows ({})", self.capacity_rows, self.capacity_rule)?,
        }
        if let Some(most) = self.chunks_at_most {
            writeln!(f, "  {} of at most {most}, the fewest that fit", counted(self.chunks as u64, "chunk", "chunks"))?;
        }
        if !self.kept.is_empty() {
            let all = size_text(self.kept.iter().map(|(_, bytes)| bytes).sum());
            let each: Vec<String> =
                self.kept.iter().map(|(name, size)| format!("{name} {}", size_text(*size))).collect();
            writeln!(f, "  {all} kept by the caller on the rank with the most: {}", each.join(", "))?;
        }
        for external in self.externals {
            let ExternalTable { task, file, .. } = external;
            match self.ran(external) {
                true => writeln!(f, "  `{task}` ran as {file}")?,
                false => writeln!(f, "  `{task}` ran as its body in Rust: {file} is for devices only")?,
            }
        }
        for promised in self.tolerances {
            let tolerance = self.tolerance(promised.tensor);
            if tolerance > 0.0 {
                writeln!(f, "  `{}` within {tolerance} of the reference, as operators promise", promised.tensor)?;
            }
        }
        if self.strangers.count() > 0 {
            writeln!(f, "  {}, when the ranks joined", self.strangers)?;
        }
        if let Some(trace) = &self.trace {
            writeln!(f, "  {trace}")?;
        }
        match self.on_npus {
            true => write!(f, "  run on NPUs"),
            false if !self.checks => write!(f, "  {LIMITS}\n  {UNCHECKED}"),
            false => write!(f, "  {LIMITS}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::HPMOE_DONE;
    use crate::testing::TABLES;
    use bytemuck::Zeroable;

    #[test]
    fn a_report_tells_what_operators_ran_and_promise() {
        let tables = KernelTables {
            externals: &[
                ExternalTable { task: "gemm", file: "ops/gemm.h", device_only: false },
                ExternalTable { task: "act", file: "ops/act.h", device_only: true },
            ],
            tolerances: &[ToleranceTable { tensor: "y", host: 0.25, device: 0.5 }],
            ..TABLES
        };
        let (memory, wall) = (MemoryUse::default(), Duration::from_millis(1));
        let cores = [vec![HpmoeRecord::zeroed(); 6]];
        let host = Report::new(&tables, &cores, 1, memory, wall, HostStatistics::default());
        assert_eq!((host.tolerance("y"), host.tolerance("x")), (0.25, 0.0));
        assert_eq!(tables.externals.iter().map(|external| host.ran(external)).collect::<Vec<_>>(), [true, false]);
        assert!(host.to_string().contains(
            "\n  `gemm` ran as ops/gemm.h\n  `act` ran as its body in Rust: ops/act.h is for devices only\n  \
             `y` within 0.25 of the reference, as operators promise\n"
        ));
        let npus = Report { on_npus: true, ..host };
        assert_eq!(npus.tolerance("y"), 0.5);
        assert!(npus.to_string().contains("`act` ran as ops/act.h"));
    }

    #[test]
    fn a_report_is_plain_figures() {
        let core = |tasks| HpmoeRecord { state: HPMOE_DONE, tasks, waits: 2, ..Zeroable::zeroed() };
        let [busy, idle] = [core(3), core(0)];
        let records = [vec![busy; 6], vec![busy, busy, busy, busy, idle, idle]];
        let wall = Duration::from_millis(1840);
        let report = Report::new(
            &TABLES,
            &records,
            2,
            MemoryUse {
                counters: 7,
                workspace: 3 << 20,
                capacity: (64, "the most that any routing brings"),
                kept: vec![("recv", 1 << 20), ("g", 512)],
            },
            wall,
            HostStatistics::default(),
        );
        assert_eq!((report.aic_cores_used, report.aiv_cores_used), (2, 2));
        assert_eq!(
            report.to_string(),
            "layer::forward: 2 launches on 2 ranks in 1.8s\n  \
             30 tasks in the last launch, none empty\n  \
             2 matrix and 2–4 vector cores of each rank had tasks\n  \
             7 counters on each rank, read 24 times in all\n  \
             3.0 MiB of workspace and symmetric tensors reserved on each rank, for 64 received rows (the most that any routing brings)\n  \
             1.0 MiB kept by the caller on the rank with the most: recv 1.0 MiB, g 512 B\n  \
             run on this machine's CPU: the results are the kernel's, the time is not the device's"
        );
        let single = Report::new(&TABLES, &records[..1], 1, MemoryUse::default(), wall, HostStatistics::default());
        assert!(single.to_string().starts_with("layer::forward: 1 launch on 1 rank in 1.8s\n  18 tasks, none"));
        assert!(!single.to_string().contains("strangers"));
        let unchecked = single.clone().with_checks(false).to_string();
        assert!(
            unchecked.ends_with(
                "the time is not the device's\n  checks off: races and stale cache lines were not looked for"
            )
        );
        let visited = single.after(Strangers { foreign: 2, ..Strangers::default() }).to_string();
        let line = "\n  2 connections of strangers to rank 0: 2 with another protocol, when the ranks joined\n";
        assert!(visited.contains(line), "{visited}");
    }
}
