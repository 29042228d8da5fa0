//! Lower bounds on the cost of a task, valid for any order of tasks.

use super::workload::Ours;
use crate::simulate::{Ahead, EntryTile, QueuedTask, Work};
use hpmoe_core::ids::PhaseId;
use hpmoe_core::schedule::most_ahead_of;

impl Ours<'_> {
    /// The least work of a task in any order of tasks, and the maximum part of it that a core can have read before the
    /// task begins.
    pub(super) fn in_any_order(&self, rank: u32, task: &QueuedTask) -> (Work, Ahead) {
        if task.op as usize == self.phases() {
            return (task.work, task.ahead);
        }
        let phase = PhaseId(task.op);
        let space = self.checked.graph().phases[phase].space;
        let (before, end) = self.layout.group(space, rank, task.group);
        let item = self.layout.item(space, rank, task.group, task.item);
        let tile = EntryTile {
            peer: item.peer,
            rows: item.rows,
            column: task.column,
            items: end - before,
            band: 1,
            joined: self.sharing[phase],
        };
        let work = self.works[phase].least(self.target, tile);
        (work, most_ahead_of(self.checked, phase, &work))
    }
}
