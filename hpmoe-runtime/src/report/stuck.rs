//! The report of a launch that made no progress.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use super::CoreReport;
use super::words::{counted, ranges};
use crate::KernelTables;
use crate::abi::HpmoeRecord;

/// Maximum number of cores that the list at the top names.
const FIRST: usize = 6;

/// The state of every core when a launch was given up or failed: its task, and the counter that it waited for.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct StuckReport {
    /// Name of the kernel and its taskflow, `module::taskflow`.
    pub kernel: &'static str,
    /// The time limit of a wait ([`Group::time_limit`](crate::Group::time_limit)).
    pub time_limit: Duration,
    /// Every core of every rank whose records can be read: rank by rank, on each rank matrix cores first.
    pub cores: Vec<CoreReport>,
}

impl StuckReport {
    /// Makes the report from the records of every rank.
    pub(crate) fn new(tables: &KernelTables, time_limit: Duration, records: &[Vec<HpmoeRecord>]) -> Self {
        let rank_reports = |(rank, cores): (usize, &Vec<HpmoeRecord>)| -> Vec<CoreReport> {
            let core_report = |(core, record)| CoreReport::new(tables, records.len(), rank, core, record);
            cores.iter().enumerate().map(core_report).collect()
        };
        Self { kernel: tables.name, time_limit, cores: records.iter().enumerate().flat_map(rank_reports).collect() }
    }

    /// Makes the report from the records of one rank only, if the records of other ranks can't be read.
    pub(crate) fn of_rank(
        tables: &KernelTables,
        time_limit: Duration,
        ranks: usize,
        rank: usize,
        records: &[HpmoeRecord],
    ) -> Self {
        let core_report = |(core, record)| CoreReport::new(tables, ranks, rank, core, record);
        Self { kernel: tables.name, time_limit, cores: records.iter().enumerate().map(core_report).collect() }
    }
}

impl fmt::Display for StuckReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kernel, time_limit, cores } = self;
        let gave_up: Vec<&CoreReport> = cores.iter().filter(|core| core.gave_up).collect();
        if gave_up.is_empty() {
            write!(f, "{kernel} ended before its cores were done")?;
        } else {
            write!(f, "{kernel} made no progress: a core waited longer than {time_limit:?} (Group::time_limit)")?;
            f.write_str("\ngave up first:")?;
            write_first(f, &gave_up)?;
        }
        // Earlier calls make the data that a call waits for.
        let upmost = cores.iter().filter(|core| core.waited.is_some()).min_by_key(|core| (core.waited, !core.gave_up));
        if let Some(core) = upmost.filter(|core| !core.gave_up) {
            write!(f, "\nfurthest up the taskflow:\n  {core}")?;
        }
        f.write_str("\nevery core, when the launch was given up:")?;
        self.write_ranks(f)
    }
}

/// Writes the first [`FIRST`] cores. Of cores in the same state, only one is listed as long as there are cores in other
/// states.
fn write_first(f: &mut fmt::Formatter<'_>, cores: &[&CoreReport]) -> fmt::Result {
    let is_new = |&(at, core): &(usize, &&CoreReport)| cores[..at].iter().all(|other| !other.is_like(core));
    let (told, rest): (Vec<_>, Vec<_>) = cores.iter().enumerate().partition(is_new);
    for (_, core) in told.iter().chain(&rest).take(FIRST) {
        write!(f, "\n  {core}")?;
    }
    match cores.len().saturating_sub(FIRST) as u64 {
        0 => Ok(()),
        more => write!(f, "\n  and {}", counted(more, "more core", "more cores")),
    }
}

impl fmt::Display for CoreReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rank {} {} {} {}", self.rank, self.kind, self.number, self.text)
    }
}

impl StuckReport {
    /// Writes one paragraph for all ranks that are stuck in the same way.
    fn write_ranks(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut ranks: Vec<(BTreeSet<usize>, String)> = Vec::new();
        for cores in self.cores.chunk_by(|a, b| a.rank == b.rank) {
            let text = lines(cores);
            match ranks.iter_mut().find(|(_, other)| *other == text) {
                Some((numbers, _)) => _ = numbers.insert(cores[0].rank),
                None => ranks.push((BTreeSet::from([cores[0].rank]), text)),
            }
        }
        for (numbers, text) in &ranks {
            let word = if numbers.len() == 1 { "rank" } else { "ranks" };
            write!(f, "\n  {word} {}{text}", ranges(numbers))?;
        }
        Ok(())
    }
}

/// One line for each set of cores of a kind that are in the same state.
fn lines(cores: &[CoreReport]) -> String {
    let mut groups: Vec<(&CoreReport, BTreeSet<usize>, BTreeSet<usize>)> = Vec::new();
    for core in cores {
        let index = groups.iter().position(|(first, ..)| first.is_like(core)).unwrap_or_else(|| {
            groups.push((core, BTreeSet::new(), BTreeSet::new()));
            groups.len() - 1
        });
        let (_, numbers, indices) = &mut groups[index];
        numbers.insert(core.number);
        indices.extend(core.gist.index);
    }
    let line = |(first, numbers, indices): &(&CoreReport, BTreeSet<usize>, BTreeSet<usize>)| {
        let CoreReport { kind, gist, .. } = first;
        format!("\n    {kind} {}: {}{}{}", ranges(numbers), gist.before, ranges(indices), gist.after)
    };
    groups.iter().map(line).collect()
}

impl CoreReport {
    /// Whether both cores are of one kind and rank, and stuck in the same state except for the number of a counter or a
    /// rank.
    fn is_like(&self, other: &Self) -> bool {
        (self.rank, self.kind) == (other.rank, other.kind)
            && (&self.gist.before, &self.gist.after) == (&other.gist.before, &other.gist.after)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::{HPMOE_DONE, HPMOE_GAVE_UP, HPMOE_READY_WORD, HPMOE_STOPPED};
    use crate::testing::TABLES;
    use bytemuck::Zeroable;

    fn record(state: u32) -> HpmoeRecord {
        HpmoeRecord { state, ..Zeroable::zeroed() }
    }

    fn waits(state: u32, item: u32) -> HpmoeRecord {
        HpmoeRecord { phase: 1, item, counter: 1, index: item, need: 8, have: 6, ..record(state) }
    }

    #[test]
    fn the_culprit_first_then_every_core() {
        let done = HpmoeRecord { tasks: 3, ..record(HPMOE_DONE) };
        let not_ready = HpmoeRecord { counter: HPMOE_READY_WORD, index: 1, need: 2, ..record(HPMOE_STOPPED) };
        let first = vec![done, not_ready, waits(HPMOE_GAVE_UP, 2), not_ready, done, done];
        let text = StuckReport::new(&TABLES, Duration::from_secs(2), &[first, vec![done; 6]]).to_string();
        assert_eq!(
            text,
            "layer::forward made no progress: a core waited longer than 2s (Group::time_limit)\n\
             gave up first:\n  \
             rank 0 AIV 0 gave up waiting for `back`[2] (has 6, needs 8) in `combine` at src/layer.rs:57, block 2 of \
             tokens, column 0: combine(&back[r].slots(t), ..)\n\
             furthest up the taskflow:\n  \
             rank 0 AIC 1 waited for rank 1 to start launch 2 (it has started 0) in `project` at src/layer.rs:41, row \
             tile 0 of expert 0, column 0: project(&recv[r].group(e, m), ..)\n\
             every core, when the launch was given up:\n  \
             rank 0\n    \
             AIC 0: done\n    \
             AIC 1: waited for rank 1 to start launch 2 (it has started 0) in `project` at src/layer.rs:41\n    \
             AIV 0: gave up waiting for `back`[2] (has 6, needs 8) in `combine` at src/layer.rs:57\n    \
             AIV 1: waited for rank 1 to start launch 2 (it has started 0) in `project` at src/layer.rs:41\n    \
             AIV 2–3: done\n  \
             rank 1\n    \
             AIC 0–1: done\n    \
             AIV 0–3: done"
        );
    }

    #[test]
    fn what_is_alike_is_told_once() {
        let tables = KernelTables { experts: 16, aic: 24, aiv: 48, ..TABLES };
        let mut cores = vec![record(HPMOE_DONE); 72];
        (24..44).for_each(|core| cores[core] = waits(HPMOE_GAVE_UP, core as u32 - 24));
        let early = |core: usize| HpmoeRecord { phase: 0, ..waits(HPMOE_STOPPED, core as u32 % 2) };
        (44..72).for_each(|core| cores[core] = early(core));
        let report = StuckReport::new(&tables, Duration::from_millis(20), &vec![cores; 16]);
        assert_eq!(report.cores.len(), 16 * 72);
        assert_eq!(report.cores[16 * 72 - 1].gist, report.cores[15 * 72 - 1].gist);
        let text = report.to_string();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[2].split(' ').take(6).collect::<Vec<_>>(), ["", "", "rank", "0", "AIV", "0"]);
        assert_eq!(lines[7].split(' ').take(6).collect::<Vec<_>>(), ["", "", "rank", "5", "AIV", "0"]);
        assert_eq!(
            lines[8..],
            [
                "  and 314 more cores",
                "furthest up the taskflow:",
                "  rank 0 AIV 20 waited for `back`[0] (has 6, needs 8) in `project` at src/layer.rs:41, row tile 0 of \
                 expert 0, column 0: project(&recv[r].group(e, m), ..)",
                "every core, when the launch was given up:",
                "  ranks 0–15",
                "    AIC 0–23: done",
                "    AIV 0–19: gave up waiting for `back`[0–19] (has 6, needs 8) in `combine` at src/layer.rs:57",
                "    AIV 20–47: waited for `back`[0–1] (has 6, needs 8) in `project` at src/layer.rs:41",
            ]
        );
    }
}
