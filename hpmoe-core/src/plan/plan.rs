//! The plan of a task, by the kind of task.

use super::external::available;
use super::limits::UB_TASKS;
use super::{CubePlan, OnChipMemory, PutPlan, VectorPlan};
use crate::units::Bytes;

/// A plan of how one task uses the on-chip memories of its core.
#[derive(Clone, PartialEq, Debug)]
pub enum Plan {
    /// The plan of a task on vector cores.
    Vector(VectorPlan),
    /// The plan of a task on matrix cores.
    Cube(CubePlan),
    /// The plan of a put.
    Put(PutPlan),
    /// The compiler's own task that writes a freed word at peers, which uses no memory.
    Word,
    /// The plan of a task with an external operator.
    External(ExternalPlan),
}

impl Plan {
    /// The high-water mark of each memory that the task uses, and the capacity of that memory.
    #[must_use]
    pub fn used(&self) -> Vec<(OnChipMemory, Bytes, Bytes)> {
        match self {
            Self::Vector(plan) => vec![(OnChipMemory::Ub, plan.used, UB_TASKS)],
            Self::Put(plan) => vec![(OnChipMemory::Ub, plan.used, UB_TASKS)],
            Self::Cube(plan) => plan.used(),
            Self::Word => Vec::new(),
            Self::External(plan) => plan.used(),
        }
    }
}

/// A plan of how an external operator uses the memories of its core.
#[derive(Clone, PartialEq, Debug)]
pub struct ExternalPlan {
    /// The bytes that the operator declares for each memory, or all bytes that a task can use there.
    pub memory: Vec<(OnChipMemory, Bytes)>,
    /// The plan of the task's body, which host runs use if the operator is device-only.
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
