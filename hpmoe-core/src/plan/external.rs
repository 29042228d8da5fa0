//! External operators: memory as they declare it.

use super::limits::{L0, L0C, L1, L1_LINES, UB_TASKS};
use super::{OnChipMemory, Plan, of_body};
use crate::finding::{Overflow, Piece};
use crate::graph::{External, Task};
use crate::units::Bytes;
use hpmoe_kernels::op::TaskKind;

/// How an external operator uses the memories of its core.
#[derive(Clone, PartialEq, Debug)]
pub struct ExternalPlan {
    /// What it declares of each memory, or all that a task can have there.
    pub memory: Vec<(OnChipMemory, Bytes)>,
    /// The plan of the task's body, which host runs take if the operator is for devices only.
    pub body: Option<Box<Plan>>,
}

impl ExternalPlan {
    /// High-water marks, and capacities.
    pub(super) fn used(&self) -> Vec<(OnChipMemory, Bytes, Bytes)> {
        let mut used: Vec<_> = self.memory.iter().map(|&(memory, bytes)| (memory, bytes, available(memory))).collect();
        used.extend(self.body.iter().flat_map(|plan| plan.used()));
        used
    }
}

/// What the operator of a task can have of a memory, from address 0 on.
fn available(memory: OnChipMemory) -> Bytes {
    match memory {
        OnChipMemory::Ub => UB_TASKS,
        OnChipMemory::L1 => L1 - L1_LINES,
        OnChipMemory::L0A | OnChipMemory::L0B => L0,
        OnChipMemory::L0C => L0C,
    }
}

/// What an operator can have of each memory of its core, from address 0 on.
#[must_use]
pub fn memory_of_operators(kind: TaskKind) -> Vec<(OnChipMemory, Bytes)> {
    let memories: &[OnChipMemory] = match kind {
        TaskKind::Matrix => &[OnChipMemory::L1, OnChipMemory::L0A, OnChipMemory::L0B, OnChipMemory::L0C],
        TaskKind::Vector | TaskKind::Put => &[OnChipMemory::Ub],
    };
    memories.iter().map(|&memory| (memory, available(memory))).collect()
}

pub(super) fn external(task: &Task, external: &External) -> Result<ExternalPlan, Overflow> {
    let mut memory = Vec::new();
    for (which, capacity) in memory_of_operators(task.kind) {
        let declared = external.memory.iter().find(|(declared, _)| *declared == which);
        let needed = declared.map_or(capacity, |(_, bytes)| *bytes);
        if needed > capacity {
            let piece = Piece::External { file: external.file.clone() };
            return Err(Overflow { memory: which, capacity, needed, piece, contents: Vec::new() });
        }
        memory.push((which, needed));
    }
    let body = external.device_only.then(|| of_body(task)).transpose()?.map(Box::new);
    Ok(ExternalPlan { memory, body })
}
