//! The task graph: what `lower` makes of a kernel module, with every constant resolved.

mod access;
mod height;
mod once;
mod space;
mod task;
mod tensor;

pub use access::{Access, Columns, Region, Rows};
pub use height::Height;
pub use space::{Space, SpaceKind};
pub use task::{Body, Param, Step, Task};
pub use tensor::{RowKind, Storage, Tensor, pitch};

use crate::ids::{Arena, PhaseId, SpaceId, TaskId, TensorId};
use crate::syntax::Constant;
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
    /// Into how many chunks the taskflow cuts the tokens of each rank; at least 1.
    pub chunks: usize,
}

/// Rows of so many chunks have memory at a time (`HPMOE_CHUNK_BUFFERS` in `abi.h`).
pub const CHUNK_BUFFERS: usize = 2;

impl Sizes {
    /// Local experts of each of `ranks` ranks.
    #[must_use]
    pub const fn local_experts(&self, ranks: usize) -> usize {
        self.experts / ranks
    }

    /// Expert chunks of each of `ranks` ranks: one local expert in one chunk, which is what entries, tables and counters count.
    #[must_use]
    pub const fn expert_chunks(&self, ranks: usize) -> usize {
        self.local_experts(ranks) * self.chunks
    }

    /// Most tokens of a chunk of one rank.
    #[must_use]
    pub const fn chunk_tokens(&self) -> usize {
        self.tokens.div_ceil(self.chunks)
    }

    /// Blocks of `height` tokens for which a chunk has counters.
    #[must_use]
    pub fn blocks(&self, height: u32) -> u64 {
        (self.chunk_tokens() as u64).div_ceil(u64::from(height))
    }

    /// How many times the rows of a chunk a tensor of the taskflow has.
    #[must_use]
    pub const fn buffers(&self) -> usize {
        if self.chunks < CHUNK_BUFFERS { self.chunks } else { CHUNK_BUFFERS }
    }

    /// Whether chunks come whose rows take the memory of others.
    #[must_use]
    pub const fn reuses(&self) -> bool {
        self.chunks > CHUNK_BUFFERS
    }
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
        if self.spaces[phase.space].height == Height::WholeExpert && phase.ranges.len() > 1 {
            phase.ranges[0]
        } else {
            1
        }
    }

    /// Whether every chunk adds to what a phase writes: sums over the tokens of all chunks, which the caller keeps.
    #[must_use]
    pub fn adds_up(&self, phase: PhaseId) -> bool {
        let of_experts = |access: &Access| matches!(self.tensors[access.tensor].rows, RowKind::Expert { .. });
        self.sizes.chunks > 1 && self.phases[phase].accesses.iter().any(|access| access.write && of_experts(access))
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

#[cfg(test)]
mod tests {
    #[test]
    fn kernels_have_memory_for_as_many_chunks() {
        let header = include_str!("../../../kernels/include/hpmoe/abi.h");
        assert!(header.contains(&format!("#define HPMOE_CHUNK_BUFFERS {}\n", super::CHUNK_BUFFERS)));
    }
}
