//! The task graph: the result of `lower` for a taskflow, with every constant resolved. It is data only; later stages
//! import it.

mod access;
mod height;
mod heights;
mod once;
mod phase_name;
mod route;
mod sizes;
mod space;
mod task;
mod tensor;

pub use access::{Access, Columns, Outer, Region, Rows};
pub use height::Height;
pub use route::{MOST_PAIRS, MOST_ROUTE_CHUNKS, MOST_ROUTE_SPACES, MadeRoute};
pub use sizes::{CHUNK_BUFFERS, Sizes};
pub use space::{Space, SpaceKind};
pub use task::{Body, External, Param, Step, Task};
pub use tensor::{RowKind, Storage, Tensor, pitch};

use crate::constant::Constant;
use crate::ids::{Arena, PhaseId, SpaceId, TaskId, TensorId};

use proc_macro2::Span;

/// A put's use of origins: the (token, k) of each received row. The compiler adds a tensor for them: `i32`, in the symmetric heap, one
/// element per received row. A put of gathered tokens writes origins along with the rows at the peer; a put to scattered slots reads them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Origins {
    /// The tensor of origins, which the compiler adds.
    pub tensor: TensorId,
    /// Whether this put writes origins (space: sends), rather than reading them (space: arrivals).
    pub write: bool,
}

/// A task call of the taskflow, over all items and columns of its loops.
#[derive(Clone, Debug)]
pub struct Phase {
    /// The task that is called.
    pub task: TaskId,
    /// The space that the loops around the call run over, on the rank that executes the call.
    pub space: SpaceId,
    /// The extents of the constant ranges around the call, outermost first. Their product is the number of columns of an item.
    pub ranges: Vec<u32>,
    /// The loop variables of these ranges, outermost first.
    pub range_names: Vec<String>,
    /// The accesses of the call: one per argument, in order.
    pub accesses: Vec<Access>,
    /// The put's use of the origins of its rows; `None` for any other call, and for a put that uses no origins.
    pub origins: Option<Origins>,
    /// The call as written, on one line, for messages and comments of generated code.
    pub source: String,
    /// The call's line in the source file, from 1; 0 if rustc does not provide it.
    pub line: usize,
    /// The name of the task in the call.
    pub span: Span,
}

impl Phase {
    /// Number of tiles of one item: the product of the extents of the ranges, or 1 without ranges.
    #[must_use]
    pub fn columns(&self) -> u32 {
        self.ranges.iter().product()
    }

    /// The accesses of a call to a tensor: those that write it if `write`, otherwise those that read it. Origins are not accesses.
    pub(crate) fn accesses_of(&self, tensor: TensorId, write: bool) -> impl Iterator<Item = &Access> {
        self.accesses.iter().filter(move |access| access.tensor == tensor && access.write == write)
    }
}

impl TaskGraph {
    /// The number of a phase's columns that the swizzle treats as rows. If an item has all rows of an expert and the phase has several
    /// ranges, it is the extent of the outermost range, so that tiles made at the same time share their reads; otherwise, it is 1.
    #[must_use]
    pub fn column_rows(&self, phase: PhaseId) -> u32 {
        let phase = &self.phases[phase];
        if self.spaces[phase.space].height == Height::WholeExpert && phase.ranges.len() > 1 {
            phase.ranges[0]
        } else {
            1
        }
    }

    /// Whether a phase writes experts' matrices in a kernel with chunks: every chunk then adds to sums in the caller's memory.
    #[must_use]
    pub fn adds_up(&self, phase: PhaseId) -> bool {
        let is_matrix = |access: &Access| matches!(self.tensors[access.tensor].rows, RowKind::Expert(_));
        self.sizes.cuts() && self.phases[phase].accesses.iter().any(|access| access.write && is_matrix(access))
    }

    /// Whether chunks add to experts' matrices while launches choose the number of chunks. Sums are then added up part by part, so that the
    /// number of chunks doesn't change results.
    #[must_use]
    pub fn adds_by_parts(&self) -> bool {
        let is_sum = |tensor: &Tensor| tensor.writable && matches!(tensor.rows, RowKind::Expert(_));
        self.sizes.chunks_at_most.is_some() && self.tensors.iter().any(|(_, tensor)| is_sum(tensor))
    }
}

/// One taskflow with every task that it calls.
#[derive(Clone, Debug)]
pub struct TaskGraph {
    /// The name of the kernel module.
    pub kernel: String,
    /// The name of the taskflow function.
    pub taskflow: String,
    /// The sizes of the layer.
    pub sizes: Sizes,
    /// Numbers of ranks that a build names. Schedules are made for them, and for the numbers that divide the experts. Roles, bands, rotation and
    /// shared descriptors are chosen for the first one.
    pub named_ranks: Vec<u32>,
    /// Every constant of the module with its value, in order of declaration.
    pub constants: Vec<(String, Constant)>,
    /// The taskflow's parameters, then its `let` tensors, in order of declaration. The compiler's tensor of origins follows the tensors
    /// that are declared before the first put that sends origins.
    pub tensors: Arena<TensorId, Tensor>,
    /// Instances of tasks in order of first use.
    pub tasks: Arena<TaskId, Task>,
    /// Distinct iteration spaces: those of phases in order of first use, then the row tiles that only counters need.
    pub spaces: Arena<SpaceId, Space>,
    /// Task calls in program order; then, if later chunks reuse memory, the phase that frees it.
    pub phases: Arena<PhaseId, Phase>,
    /// The route, if the kernel makes it; `None` if the host does.
    pub route: Option<MadeRoute>,
    /// The taskflow's name in the source.
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
