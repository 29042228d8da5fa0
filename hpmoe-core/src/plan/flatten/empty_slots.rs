//! Zeros for the rows of empty slots, if an operation reads these rows.

use super::slots::shows_empty;
use super::{BufferId, Builder, Call, routine};
use crate::ids::{Id as _, ValueId};

impl Builder<'_> {
    /// Whether a step that loads a tile must set the rows of empty slots to zero.
    pub(super) fn clears(&self, step: usize, param: usize) -> bool {
        self.slots[param] && shows_empty(self.task, ValueId::new(self.task.params.len() + step))
    }

    /// Adds the call that sets the rows of empty slots to zero.
    pub(super) fn clear_empty(&mut self, step: usize, loaded: BufferId) {
        let instruction = routine("ClearEmpty", true);
        self.program.calls.push(Call { instruction, to: loaded, from: vec![loaded], scratch: Vec::new(), step });
    }
}
