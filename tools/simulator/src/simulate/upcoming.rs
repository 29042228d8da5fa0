//! The next tasks of a core's queue.

use super::{CoreKind, Cursor, QueuedTask, Workload};

/// A core of a rank.
pub type CoreId = (u32, CoreKind, u32);

/// The task that follows in a core's queue. A core may look for it before it runs the task that it has come to, to read ahead for it:
/// the entries that lead there are then read earlier, up to [`CoreCosts::entries_ahead`](super::CoreCosts::entries_ahead) of them.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Upcoming {
    cursor: Cursor,
    task: QueuedTask,
    there: bool,
    /// Entries that lead to it and that the core reads when it has come to it.
    late: u32,
}

/// Entries that a core reads between a task and the next one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct EntriesRead {
    /// Those that lead to the task.
    pub late: u32,
    /// Those that lead to the task after it.
    pub early: u32,
}

impl Upcoming {
    /// The first task of a core, for which all entries are read when the core comes to it.
    #[must_use]
    pub fn first(workload: &dyn Workload, core: CoreId) -> Self {
        let mut first = Self::default();
        first.find(workload, core);
        first.late = first.task.entries;
        first
    }

    /// Moves the task that follows to `task`, and finds the one after it. False at the end of the queue, where the core reads the entries
    /// all the same.
    pub fn take(&mut self, workload: &dyn Workload, core: CoreId, task: &mut QueuedTask) -> (bool, EntriesRead) {
        let late = std::mem::take(&mut self.late);
        if !self.there {
            return (false, EntriesRead { late, early: 0 });
        }
        std::mem::swap(task, &mut self.task);
        self.find(workload, core);
        let early = self.task.entries.min(workload.costs().of_core(core.1).entries_ahead);
        self.late = self.task.entries - early;
        (true, EntriesRead { late, early })
    }

    fn find(&mut self, workload: &dyn Workload, (rank, kind, number): CoreId) {
        self.there = workload.next(rank, kind, number, &mut self.cursor, &mut self.task);
    }
}
