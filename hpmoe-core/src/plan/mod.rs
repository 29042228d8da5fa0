//! On-chip plans: how a task is cut into pieces that fit the memories of its core, and where each buffer lies.
//!
//! A plan depends only on the task's body, so that it can be part of the checks of a kernel.

mod cube;
mod external;
mod flatten;
mod limits;
mod program;
mod put;
mod single;
mod vector;

pub use cube::{CubePlan, Product, Term};
pub use cube::{FRACTAL_DEPTH, panel_rows};
pub use external::{ExternalPlan, memory_of_operators};
pub use limits::L1_STAGES;
pub use program::{Buffer, BufferId, Call, Holds, Instruction, VectorProgram, Width};
pub use put::PutPlan;
pub use vector::VectorPlan;

pub use crate::memory::OnChipMemory;

use crate::finding::{Content, Overflow};
use crate::graph::Task;
use crate::units::Bytes;
use hpmoe_kernels::op::TaskKind;

/// How one task uses the on-chip memories of its core.
#[derive(Clone, PartialEq, Debug)]
pub enum Plan {
    /// The plan of a task on vector cores.
    Vector(VectorPlan),
    /// The plan of a task on matrix cores.
    Cube(CubePlan),
    /// The plan of a put.
    Put(PutPlan),
    /// The compiler's own task that writes a freed word at peers: it uses no memory.
    Word,
    /// The plan of a task with an external operator.
    External(ExternalPlan),
}

impl Plan {
    /// The high-water mark of each memory that the task uses, and the capacity of that memory.
    #[must_use]
    pub fn used(&self) -> Vec<(OnChipMemory, Bytes, Bytes)> {
        match self {
            Self::Vector(plan) => vec![(OnChipMemory::Ub, plan.used, limits::UB_TASKS)],
            Self::Put(plan) => vec![(OnChipMemory::Ub, plan.used, limits::UB_TASKS)],
            Self::Cube(plan) => plan.used(),
            Self::Word => Vec::new(),
            Self::External(plan) => plan.used(),
        }
    }
}

/// Plans a task.
///
/// # Errors
///
/// If the smallest legal piece does not fit: one row of the result on a vector core, sixteen rows on a matrix core, one row
/// of a put; or what an external operator declares.
pub(crate) fn plan(task: &Task) -> Result<Plan, Overflow> {
    match &task.external {
        Some(external) => external::external(task, external).map(Plan::External),
        None => of_body(task),
    }
}

/// Plans the body of a task.
fn of_body(task: &Task) -> Result<Plan, Overflow> {
    match task.kind {
        TaskKind::Vector if task.params.is_empty() => Ok(Plan::Word),
        TaskKind::Vector => vector::vector(task).map(Plan::Vector),
        TaskKind::Matrix => cube::cube(task).map(Plan::Cube),
        TaskKind::Put => put::put(task).map(Plan::Put),
    }
}

/// The largest first; equal ones in the given order.
fn by_size(mut contents: Vec<(Content, Bytes)>) -> Vec<(Content, Bytes)> {
    contents.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
    contents
}

#[cfg(test)]
mod tests;
