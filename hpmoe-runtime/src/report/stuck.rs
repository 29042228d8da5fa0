//! What every core was doing when a launch was given up.

use std::fmt;
use std::time::Duration;

use super::Site;
use crate::KernelTables;
use crate::abi::{
    HPMOE_DONE, HPMOE_GAVE_UP, HPMOE_IDLE, HPMOE_READY_WORD, HPMOE_REFUSED, HPMOE_RUNNING, HPMOE_STOPPED,
    HPMOE_WAITING, HpmoeRecord,
};

/// A launch that made no progress: every core, its task, and what it waited for.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct StuckReport {
    /// The kernel.
    pub kernel: &'static str,
    /// The longest that a wait may take.
    pub time_limit: Duration,
    /// Every core of every rank, matrix cores first.
    pub cores: Vec<CoreReport>,
}

/// What one core was doing.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct CoreReport {
    /// Its rank.
    pub rank: usize,
    /// `AIC` or `AIV`.
    pub kind: &'static str,
    /// Its number among those of its kind.
    pub number: usize,
    /// State, task with source line, counter awaited.
    pub text: String,
}

impl StuckReport {
    /// From the records of each rank.
    pub(crate) fn new(tables: &KernelTables, time_limit: Duration, records: &[Vec<HpmoeRecord>]) -> Self {
        let aic = tables.aic as usize;
        let cores = records.iter().enumerate().flat_map(|(rank, cores)| {
            cores.iter().enumerate().map(move |(core, record)| CoreReport {
                rank,
                kind: if core < aic { "AIC" } else { "AIV" },
                number: if core < aic { core } else { core - aic },
                text: describe(tables, record),
            })
        });
        Self { kernel: tables.name, time_limit, cores: cores.collect() }
    }
}

fn describe(tables: &KernelTables, record: &HpmoeRecord) -> String {
    let tile = || {
        let HpmoeRecord { group, item, column, .. } = record;
        let task = Site::new(tables, 1, 0).line(record).unwrap_or_else(|| format!("phase {}", record.phase));
        format!("{task} (group {group}, item {item}, column {column})")
    };
    match record.state {
        HPMOE_IDLE => "did not start".to_owned(),
        HPMOE_RUNNING => format!("ran {}", tile()),
        HPMOE_WAITING => format!("waited for {}, for {}", awaited(tables, record), tile()),
        HPMOE_DONE => format!("done after {} tasks", record.tasks),
        HPMOE_GAVE_UP => format!("gave up waiting for {}, for {}", awaited(tables, record), tile()),
        HPMOE_STOPPED => format!("was told to stop, waiting for {}, for {}", awaited(tables, record), tile()),
        HPMOE_REFUSED => "refused: another number of cores than the schedule's".to_owned(),
        state => format!("left an unknown state, {state}"),
    }
}

fn awaited(tables: &KernelTables, record: &HpmoeRecord) -> String {
    let HpmoeRecord { counter, index, need, have, .. } = record;
    if *counter == HPMOE_READY_WORD {
        return format!("rank {index} to be ready for launch {need} (it is for {have})");
    }
    let name = tables.counters.get(*counter as usize).map_or("an unknown counter", |counter| counter.name);
    format!("`{name}`[{index}] (needs {need}, has {have})")
}

impl fmt::Display for StuckReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} made no progress for {:?}; every core, when it was given up:", self.kernel, self.time_limit)?;
        for group in self.cores.chunk_by(|a, b| (a.rank, a.kind, &a.text) == (b.rank, b.kind, &b.text)) {
            let (first, last) = (&group[0], &group[group.len() - 1]);
            let numbers = match first.number == last.number {
                true => first.number.to_string(),
                false => format!("{}-{}", first.number, last.number),
            };
            write!(f, "\n  rank {} {} {numbers}: {}", first.rank, first.kind, first.text)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TABLES;
    use bytemuck::Zeroable;

    #[test]
    fn names_every_core_its_task_and_its_counter() {
        let done = HpmoeRecord { state: HPMOE_DONE, tasks: 3, ..Zeroable::zeroed() };
        let gave_up = HpmoeRecord {
            state: HPMOE_GAVE_UP,
            phase: 1,
            item: 2,
            counter: 1,
            index: 2,
            need: 8,
            have: 6,
            ..Zeroable::zeroed()
        };
        let not_ready = HpmoeRecord { state: HPMOE_STOPPED, counter: HPMOE_READY_WORD, index: 1, need: 2, ..done };
        let records = vec![done, done, gave_up, not_ready, done, done];
        let text = StuckReport::new(&TABLES, Duration::from_secs(2), &[records]).to_string();
        assert_eq!(
            text,
            "layer::forward made no progress for 2s; every core, when it was given up:\n  \
             rank 0 AIC 0-1: done after 3 tasks\n  \
             rank 0 AIV 0: gave up waiting for `back`[2] (needs 8, has 6), for `combine` at src/layer.rs:57 \
             (group 0, item 2, column 0)\n  \
             rank 0 AIV 1: was told to stop, waiting for rank 1 to be ready for launch 2 (it is for 0), for `project` \
             at src/layer.rs:41 (group 0, item 0, column 0)\n  \
             rank 0 AIV 2-3: done after 3 tasks"
        );
    }
}
