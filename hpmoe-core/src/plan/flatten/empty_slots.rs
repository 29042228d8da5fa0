//! Zeros for the rows of empty slots, if anything looks at them.

use super::slots::shows_empty;
use super::{BufferId, Builder, Call, routine};
use crate::ids::{Id as _, ValueId};

impl Builder<'_> {
    /// Whether a step that loads a tile makes zeros of the rows of empty slots.
    pub(super) fn clears(&self, step: usize, param: usize) -> bool {
        self.slots[param] && shows_empty(self.task, ValueId::new(self.task.params.len() + step))
    }

    /// Zeros for the rows of empty slots.
    pub(super) fn clear_empty(&mut self, step: usize, loaded: BufferId) {
        let instruction = routine("ClearEmpty", true);
        self.program.calls.push(Call { instruction, to: loaded, from: vec![loaded], scratch: Vec::new(), step });
    }
}
