//! The tasks of a run with their times, for pictures and traces.

use super::{Cursor, QueuedTask, Simulated, TaskTimes, Work, Workload};
use std::collections::BTreeMap;

/// A task that ran.
#[derive(Clone, PartialEq, Debug)]
pub struct TracedTask {
    /// The core, and the times of the task.
    pub slice: TaskTimes,
    /// The task itself.
    pub task: QueuedTask,
    /// For each of the task's waits with a threshold above 0, the number of the task that gave the last signal; `None` if there is none.
    pub signalled_by: Vec<Option<usize>>,
}

/// All tasks of a run that recorded their times ([`Simulated::slices`]), core by core in the order of their queues. The number of a task is
/// its index.
#[must_use]
pub fn traced_tasks(workload: &dyn Workload, simulated: &Simulated) -> Vec<TracedTask> {
    let mut slices = simulated.slices.clone();
    slices.sort_by_key(|slice| (slice.rank, slice.kind, slice.core, slice.end));
    let mut records: Vec<TracedTask> = Vec::with_capacity(slices.len());
    let mut cursor = Cursor::default();
    let mut task = QueuedTask::default();
    for (at, slice) in slices.iter().enumerate() {
        if at == 0 || !slices[at - 1].is_on_core_of(slice) {
            (cursor, task) = (Cursor::default(), QueuedTask::default());
        }
        if workload.next(slice.rank, slice.kind, slice.core, &mut cursor, &mut task) {
            records.push(TracedTask { slice: *slice, task: task.clone(), signalled_by: Vec::new() });
        }
    }
    let last = last_signals(&records);
    for record in &mut records {
        let waits = record.task.waits.iter().filter(|wait| wait.need > 0);
        let by = waits.map(|wait| last.get(&(record.slice.rank, wait.counter)).copied());
        record.signalled_by = by.collect();
    }
    records
}

/// The task that gave the last signal, by rank and counter. A threshold is the sum of all signals of its counter.
fn last_signals(records: &[TracedTask]) -> BTreeMap<(u32, u32), usize> {
    let mut last: BTreeMap<(u32, u32), usize> = BTreeMap::new();
    for (at, record) in records.iter().enumerate() {
        for signal in &record.task.signals {
            let known = last.entry((signal.rank, signal.counter)).or_insert(at);
            if records[*known].slice.end <= record.slice.end {
                *known = at;
            }
        }
    }
    last
}

impl TracedTask {
    /// Whether the task waited for rows in transit, rather than for another core's work: the last signal that it waited for came from a
    /// put. `all` are all tasks of the run.
    #[must_use]
    pub fn waited_for_rows(&self, all: &[Self]) -> bool {
        let by = self.signalled_by.iter().flatten();
        let last = by.max_by_key(|&&by| all[by].slice.end);
        last.is_some_and(|&by| matches!(all[by].task.work, Work::Put { .. }))
    }
}
