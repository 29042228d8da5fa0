//! On-chip plans: how a task is cut into pieces that fit the memories of its core, and where everything lies.
//!
//! A plan depends on the task's body alone, so that it can be part of the checks of a kernel.

mod cube;
mod flatten;
mod limits;
mod program;
mod put;
mod single;
mod vector;

pub use cube::panel_rows;
pub use cube::{CubePlan, Product, Term};
pub use program::{Buffer, BufferId, Call, Holds, Instruction, Program, Width};
pub use put::PutPlan;
pub use vector::VectorPlan;

use crate::graph::Task;
use crate::units::Bytes;
use hpmoe_kernels::op::TaskKind;
use std::fmt;

/// An on-chip memory.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum OnChipMemory {
    /// Unified buffer of a vector core.
    Ub,
    /// Staging memory of a matrix core.
    L1,
    /// Left operand of the cube.
    L0A,
    /// Right operand of the cube.
    L0B,
    /// Accumulator of the cube.
    L0C,
}

impl fmt::Display for OnChipMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ub => "UB",
            Self::L1 => "L1",
            Self::L0A => "L0A",
            Self::L0B => "L0B",
            Self::L0C => "L0C",
        })
    }
}

/// How one task uses its core.
#[derive(Clone, PartialEq, Debug)]
pub enum Plan {
    /// A task on vector cores.
    Vector(VectorPlan),
    /// A task on matrix cores.
    Cube(CubePlan),
    /// A put.
    Put(PutPlan),
    /// No task of the user's, but a word for peers: it uses no memory.
    Word,
}

impl Plan {
    /// Bytes used in each memory of the core, and bytes that there are.
    #[must_use]
    pub fn used(&self) -> Vec<(OnChipMemory, Bytes, Bytes)> {
        match self {
            Self::Vector(plan) => vec![(OnChipMemory::Ub, plan.used, limits::UB_TASKS)],
            Self::Put(plan) => vec![(OnChipMemory::Ub, plan.used, limits::UB_TASKS)],
            Self::Cube(plan) => plan.used(),
            Self::Word => Vec::new(),
        }
    }
}

/// The smallest legal piece of a task does not fit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Overflow {
    /// Which memory.
    pub memory: OnChipMemory,
    /// What it holds.
    pub capacity: Bytes,
    /// What the piece needs.
    pub needed: Bytes,
    /// What the piece is, in words.
    pub piece: String,
    /// What lies there at the fullest moment, in order of size.
    pub contributors: Vec<(String, Bytes)>,
    /// What to change.
    pub help: String,
}

/// Plans a task.
///
/// # Errors
///
/// Where the smallest legal piece does not fit: one row of the result on a vector core, sixteen rows on a matrix core, one
/// row of a put.
pub fn plan(task: &Task) -> Result<Plan, Overflow> {
    match task.kind {
        TaskKind::Vector if task.params.is_empty() => Ok(Plan::Word),
        TaskKind::Vector => vector::vector(task).map(Plan::Vector),
        TaskKind::Matrix => cube::cube(task).map(Plan::Cube),
        TaskKind::Put => put::put(task).map(Plan::Put),
    }
}

/// The largest first; of equals the first named.
fn by_size(mut contributors: Vec<(String, Bytes)>) -> Vec<(String, Bytes)> {
    contributors.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
    contributors
}

#[cfg(test)]
mod tests;
