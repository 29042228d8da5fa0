//! Operations that write a tile, and tasks that only add to one.

use crate::graph::Task;
use hpmoe_kernels::op::{Device, Operation};

/// Whether a task only adds to a parameter.
pub(super) fn adds(task: &Task, param: usize) -> bool {
    let mut steps = task.body.steps.iter().filter(|step| writes(step.operation));
    steps.all(|step| step.operands[0].0 as usize != param || matches!(step.operation.device, Device::Accumulate))
}

/// Whether an operation writes its receiver, which is then a tile.
pub(super) fn writes(operation: &Operation) -> bool {
    matches!(operation.device, Device::Store | Device::Accumulate | Device::Put)
}
