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
    /// The plan of the task that the compiler adds to write freed words at peers. It uses no memory.
    Word,
    /// The plan of a task with an external operator.
    External(ExternalPlan),
}

impl Plan {
    /// Each memory that the task uses, with the high-water mark and the capacity for tasks, in bytes. The memories of a device-only
    /// operator's body follow those of the operator, so a memory may appear twice.
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
    /// Each memory of the core, with the bytes that the operator declares, or else with all bytes that an operator can use there.
    pub memory: Vec<(OnChipMemory, Bytes)>,
    /// The plan of the task's body, which runs on the host, if the operator is device-only; `None` if the operator also runs on the host.
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
