//! The next task in a core's queue.

use super::{CoreKind, Cursor, QueuedTask, Workload};

/// A core, as (rank, kind, number).
pub type CoreId = (u32, CoreKind, u32);

/// The next task in a core's queue. Before a core runs its current task, it can look for the next task, in order to read ahead for it. The
/// core then reads the entries that lead to the next task early, at most [`CoreCosts::entries_ahead`](super::CoreCosts::entries_ahead) of
/// them.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Upcoming {
    cursor: Cursor,
    task: QueuedTask,
    there: bool,
    /// Number of entries that lead to the task and that the core reads only when it reaches the task.
    late: u32,
}

/// Numbers of entries that a core reads for the current and the next task.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct EntriesRead {
    /// Number of entries that lead to the current task and are read when the core reaches it.
    pub late: u32,
    /// Number of entries that lead to the next task and are read early.
    pub early: u32,
}

impl Upcoming {
    /// The first task of a core. The core reads all entries that lead to it when it reaches the task.
    #[must_use]
    pub fn first(workload: &dyn Workload, core: CoreId) -> Self {
        let mut first = Self::default();
        first.find(workload, core);
        first.late = first.task.entries;
        first
    }

    /// Moves the next task to `task`, finds the task after it, and returns true with the numbers of entries that the core reads. At the end
    /// of the queue, returns false; the core still reads the remaining entries.
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
