//! The next tasks of a core's queue.

use super::{CoreKind, Cursor, QueuedTask, Workload};

/// A core: its rank, its kind and its number.
pub type CoreId = (u32, CoreKind, u32);

/// The next task in a core's queue. To read ahead for that task, a core can look for it before it runs the current task: it then
/// reads the entries that lead there early, up to [`CoreCosts::entries_ahead`](super::CoreCosts::entries_ahead) of them.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Upcoming {
    cursor: Cursor,
    task: QueuedTask,
    there: bool,
    /// Entries that lead to the task and that the core reads when it has arrived at it.
    late: u32,
}

/// Entries that a core reads between a task and the next one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct EntriesRead {
    /// Entries that lead to the current task.
    pub late: u32,
    /// Entries that lead to the next task.
    pub early: u32,
}

impl Upcoming {
    /// The first task of a core. The core reads all entries that lead to it when it arrives at the task.
    #[must_use]
    pub fn first(workload: &dyn Workload, core: CoreId) -> Self {
        let mut first = Self::default();
        first.find(workload, core);
        first.late = first.task.entries;
        first
    }

    /// Moves the next task to `task`, and finds the one after it. Returns false at the end of the queue, where the core still reads the
    /// remaining entries.
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
