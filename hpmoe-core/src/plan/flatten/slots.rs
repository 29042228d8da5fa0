//! Values whose rows are slots of tokens. Some slots may be empty, and nothing was sent to empty slots.

use crate::graph::{Step, Task};
use crate::ids::{Id as _, ValueId};
use hpmoe_kernels::op::{Device, More, Routine, Sizes};

/// For each value, whether its rows are slots: loaded from a tile of slots, or computed row by row from such values.
pub(super) fn slots(task: &Task) -> Vec<bool> {
    let shapes = task.shapes();
    let mut slots: Vec<bool> = task.params.iter().map(|param| param.slots && !param.write).collect();
    for step in &task.body.steps {
        let of_slots = |value: &ValueId| slots[value.index()] && shapes[*value].rows == step.result.rows;
        let made = !joins_rows(step) && step.operands.iter().any(of_slots);
        slots.push(made);
    }
    slots
}

/// Whether an operation other than a sum over k reads the rows of a loaded value. A sum over k skips rows of empty slots itself.
pub(super) fn shows_empty(task: &Task, value: ValueId) -> bool {
    task.body.steps.iter().any(|step| {
        let left_out = matches!(step.operation.device, Device::Routine(routine) if routine.more() == More::Terms);
        step.operands.iter().skip(usize::from(left_out)).any(|operand| *operand == value)
    })
}

/// Whether a result's rows do not correspond to those of its operands, because the operation joins or splits rows.
const fn joins_rows(step: &Step) -> bool {
    let Device::Routine(Routine { sizes, .. }) = step.operation.device else { return false };
    matches!(sizes, Sizes::SumOverK | Sizes::RowsForEachToken | Sizes::Reshaped)
}
