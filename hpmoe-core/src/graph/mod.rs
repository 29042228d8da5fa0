//! The task graph: what `lower` makes of a kernel module, with every constant resolved.

mod access;
mod space;
mod task;
mod tensor;

pub use access::{Access, Columns, Region, Rows};
pub use space::{Space, SpaceKind};
pub use task::{Body, Param, Step, Task};
pub use tensor::{Extent, Memory, Tensor, pitch};

use crate::ids::{Arena, PhaseId, SpaceId, TaskId, TensorId};
use crate::syntax::Constant;
use hpmoe_kernels::RAGGED;
use proc_macro2::Span;

/// Sizes that every kernel declares by constants of these names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sizes {
    /// `EXPERTS`: experts of the whole group.
    pub experts: usize,
    /// `TOP_K`: experts per token.
    pub top_k: usize,
    /// `TOKENS`: most tokens that one rank may bring.
    pub tokens: usize,
}

/// The (token, k) of each received row: an `i32` symmetric tensor of received rows with a pitch of one element, made by
/// the compiler. A put of gathered tokens writes it beside the rows at the peer, a put to scattered slots reads it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Origins {
    /// The tensor.
    pub tensor: TensorId,
    /// Whether this put writes it (space: sends) or reads it (space: arrivals).
    pub write: bool,
}

/// A task call of the taskflow, over all items and columns of its loops.
#[derive(Clone, Debug)]
pub struct Phase {
    /// What is called.
    pub task: TaskId,
    /// What the loops around it run over, on the rank that executes it.
    pub space: SpaceId,
    /// Extents of the constant ranges around it, outermost first; their product is the number of columns of an item.
    pub ranges: Vec<u32>,
    /// Their loop variables, outermost first.
    pub range_names: Vec<String>,
    /// One per argument, in order.
    pub accesses: Vec<Access>,
    /// For puts through the route: where the rows' (token, k) lie beside them.
    pub origins: Option<Origins>,
    /// The call as written, on one line.
    pub source: String,
    /// Line in the source file, from 1; 0 where the compiler does not tell.
    pub line: usize,
    /// Where it stands.
    pub span: Span,
}

impl Phase {
    /// Tiles of one item.
    #[must_use]
    pub fn columns(&self) -> u32 {
        self.ranges.iter().product()
    }
}

impl TaskGraph {
    /// How many of a phase's columns follow one another as the swizzle's rows do: the values of the outermost range where
    /// an item has all rows of an expert, so that tiles made at the same time share what they read; else one.
    #[must_use]
    pub fn column_rows(&self, phase: PhaseId) -> u32 {
        let phase = &self.phases[phase];
        let ragged = self.spaces[phase.space].height as usize == RAGGED;
        if ragged && phase.ranges.len() > 1 { phase.ranges[0] } else { 1 }
    }
}

/// One taskflow with everything it calls.
#[derive(Clone, Debug)]
pub struct TaskGraph {
    /// Name of the kernel module.
    pub kernel: String,
    /// Name of the taskflow function.
    pub taskflow: String,
    /// Sizes of the group.
    pub sizes: Sizes,
    /// Every constant of the module with its value, in order of declaration.
    pub constants: Vec<(String, Constant)>,
    /// Parameters and `let` tensors, in order of declaration.
    pub tensors: Arena<TensorId, Tensor>,
    /// Tasks with their const arguments, in order of first use.
    pub tasks: Arena<TaskId, Task>,
    /// Distinct iteration spaces, in order of first use.
    pub spaces: Arena<SpaceId, Space>,
    /// Calls in program order.
    pub phases: Arena<PhaseId, Phase>,
    /// Where the taskflow's name stands.
    pub span: Span,
}
