//! The state of one core when the launch was given up.

use super::TaskSite;
use super::site::chunks_of;
use crate::KernelTables;
use crate::abi::{
    HPMOE_CLOCK_WORD, HPMOE_COUNTS, HPMOE_DONE, HPMOE_FREED_WORD, HPMOE_GAVE_UP, HPMOE_IDLE, HPMOE_READY_WORD,
    HPMOE_REFUSED, HPMOE_RUNNING, HPMOE_STOPPED, HPMOE_UNROUTED, HPMOE_WAITING, HpmoeRecord,
};

/// The state of one core when the launch was given up.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct CoreReport {
    /// The rank that the core belongs to.
    pub rank: usize,
    /// `AIC` or `AIV`.
    pub kind: &'static str,
    /// The core's number among the cores of its kind on that rank.
    pub number: usize,
    /// Whether this core gave up because its wait exceeded the time limit. The other cores then stop.
    pub gave_up: bool,
    /// The state of the core in words. For a core that waited or ran a task: the counter that it waited for, and the task with source line,
    /// tile and call.
    pub text: String,
    /// Position of the call that the core waited in: 0 for a wait for another rank's start, then the taskflow's calls in order. `None` if
    /// the core did not wait.
    pub(super) waited: Option<u32>,
    pub(super) gist: Gist,
}

/// The text of a core's state, split at the one number in which cores in the same state differ.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Gist {
    pub(super) before: String,
    /// The number in which they differ: that of a counter or a rank.
    pub(super) index: Option<usize>,
    pub(super) after: String,
}

impl CoreReport {
    /// Makes the report from a core's record. `core` is the core's number, counted with matrix cores first.
    pub(super) fn new(tables: &KernelTables, ranks: usize, rank: usize, core: usize, record: &HpmoeRecord) -> Self {
        let aic = tables.aic as usize;
        let (kind, number) = if core < aic { ("AIC", core) } else { ("AIV", core - aic) };
        let site = TaskSite::new(tables, ranks, rank);
        let unknown = || format!("phase {} of an unknown task", record.phase);
        let call = site.call(record).unwrap_or_else(unknown);
        let gist = Gist::new(tables, record, &site.line(record).unwrap_or_else(unknown));
        let text = match record.state {
            HPMOE_DONE => format!("done after {} tasks", record.tasks),
            _ => Gist::new(tables, record, &call).to_string(),
        };
        let has_waited = matches!(record.state, HPMOE_WAITING | HPMOE_STOPPED | HPMOE_GAVE_UP);
        // A route is made before the first call.
        let first = record.counter == HPMOE_READY_WORD || record.phase as usize == tables.phases.len();
        let waited = has_waited.then_some(if first { 0 } else { record.phase + 1 });
        Self { rank, kind, number, gave_up: record.state == HPMOE_GAVE_UP, text, waited, gist }
    }
}

impl Gist {
    fn new(tables: &KernelTables, record: &HpmoeRecord, call: &str) -> Self {
        match record.state {
            HPMOE_IDLE => Self::plain("did not start".to_owned()),
            HPMOE_RUNNING => Self::plain(format!("was in {call}")),
            HPMOE_DONE => Self::plain("done".to_owned()),
            HPMOE_WAITING | HPMOE_STOPPED => Self::awaited(tables, record, "waited for", call),
            HPMOE_GAVE_UP => Self::awaited(tables, record, "gave up waiting for", call),
            HPMOE_REFUSED => Self::plain("refused: different cores than the kernel was scheduled for".to_owned()),
            HPMOE_UNROUTED => Self::plain("found that the ids make no route".to_owned()),
            state => Self::plain(format!("left an unknown state, {state}")),
        }
    }

    const fn plain(before: String) -> Self {
        Self { before, index: None, after: String::new() }
    }

    fn awaited(tables: &KernelTables, record: &HpmoeRecord, verb: &str, call: &str) -> Self {
        let HpmoeRecord { counter, need, have, .. } = record;
        let (before, after) = if *counter == HPMOE_READY_WORD {
            (format!("{verb} rank "), format!(" to start launch {need} (it has started {have}) in {call}"))
        } else if *counter == HPMOE_COUNTS {
            (format!("{verb} rank "), format!(" to say how many rows it sends in {call}"))
        } else if *counter == HPMOE_CLOCK_WORD {
            (format!("{verb} rank "), " to compare clocks after all tiles".to_owned())
        } else if *counter == HPMOE_FREED_WORD {
            // Words keep counting from launch to launch.
            let chunks = chunks_of(tables, [record]) as i32;
            let (need, have) = (need % chunks, have - (need - need % chunks));
            let read = if have > 0 { format!("it has {have}") } else { "it has none".to_owned() };
            (format!("{verb} rank "), format!(" to finish {need} chunks ({read}) in {call}"))
        } else {
            let name = tables.counters.get(*counter as usize).map_or("an unknown counter", |counter| counter.name);
            (format!("{verb} `{name}`["), format!("] (has {have}, needs {need}) in {call}"))
        };
        Self { before, index: Some(record.index as usize), after }
    }
}

impl std::fmt::Display for Gist {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { before, index, after } = self;
        match index {
            Some(index) => write!(f, "{before}{index}{after}"),
            None => write!(f, "{before}{after}"),
        }
    }
}
