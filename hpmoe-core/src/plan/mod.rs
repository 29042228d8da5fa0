//! On-chip plans: how a task is cut into pieces that fit the memories of its core, and where each buffer lies.
//!
//! A plan depends only on the task's body, so that it can be part of the checks of a kernel.

mod contents;
mod cube;
mod external;
mod flatten;
mod limits;
#[expect(clippy::module_inception, reason = "the plan of a task stands in a file of its name")]
mod plan;
mod program;
mod put;
mod single;
mod vector;

pub use cube::{CubePlan, Product, Term};
pub use cube::{FRACTAL_DEPTH, panel_rows};
pub use external::memory_of_operators;
pub use limits::L1_STAGES;
pub use plan::{ExternalPlan, Plan};
pub use program::{Buffer, BufferId, Call, Holds, Instruction, VectorProgram, Width};
pub use put::PutPlan;
pub use vector::VectorPlan;

pub use crate::memory::OnChipMemory;

use crate::finding::Overflow;
use crate::graph::Task;
use hpmoe_kernels::op::TaskKind;

/// Plans a task.
///
/// # Errors
///
/// If the smallest legal piece does not fit: one row of the result on a vector core, sixteen rows on a matrix core, one row
/// of a put; or what an external operator declares.
pub(crate) fn plan(task: &Task) -> Result<Plan, Overflow> {
    let Some(external) = &task.external else { return of_body(task) };
    let memory = external::declared(task.kind, external)?;
    let body = external.device_only.then(|| of_body(task)).transpose()?.map(Box::new);
    Ok(Plan::External(ExternalPlan { memory, body }))
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

#[cfg(test)]
mod tests;
