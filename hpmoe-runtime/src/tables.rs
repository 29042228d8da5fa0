//! The tables that describe a compiled kernel to the runtime. Generated code fills them in.

use hpmoe_kernels::memory::{self, KernelShape, KernelSizes, TensorShape};
pub use hpmoe_kernels::memory::{Grid, RowKind, SpaceTable};
use hpmoe_kernels::op::ElementType;
pub use hpmoe_kernels::route::ExpertOrders;
use hpmoe_kernels::route::chunk_parts;

/// The tables of one taskflow, scheduled and compiled.
#[derive(Clone, Copy, Debug)]
pub struct KernelTables {
    /// Name of the kernel and its taskflow, `module::taskflow`.
    pub name: &'static str,
    /// Fingerprint of the source, the constants, the compiler and the ABI.
    pub fingerprint: &'static str,
    /// Source file, as given to the build script.
    pub file: &'static str,
    /// `EXPERTS`: number of logical experts; ids name logical experts.
    pub experts: usize,
    /// `SPARE`: number of places for experts on each rank beyond its even share.
    pub spare: usize,
    /// `TOP_K`: number of experts per token.
    pub top_k: usize,
    /// `TOKENS`: maximum number of tokens per rank.
    pub tokens: usize,
    /// Number of chunks that each rank's tokens are divided into; at least 1.
    pub chunks: usize,
    /// Whether puts back to slots look up each received row's (token, k) in a table. They do if no put sends the (token, k) along with the
    /// rows.
    pub origins: bool,
    /// The route that the kernel makes; `None` if the host makes it.
    pub route: Option<RouteTable>,
    /// Label of a task that reads all rows of slots, including rows of empty slots; `None` if there is no such task. If there is one, no
    /// slot may be empty.
    pub whole_slots: Option<&'static str>,
    /// Number of matrix cores per rank that the schedule is for.
    pub aic: u32,
    /// Number of vector cores per rank that the schedule is for.
    pub aiv: u32,
    /// The order in which queues list a rank's experts.
    pub expert_orders: ExpertOrders,
    /// Whether cores record time stamps of their tiles.
    pub time_stamps: bool,
    /// Tensors; their indices are the tensors' numbers.
    pub tensors: &'static [TensorTable],
    /// Iteration spaces; their indices are the spaces' numbers.
    pub spaces: &'static [SpaceTable],
    /// Counter arrays; their indices are the arrays' numbers.
    pub counters: &'static [CounterTable],
    /// Calls of the taskflow; their indices are the phases' numbers.
    pub phases: &'static [PhaseTable],
    /// Tasks that have an external operator.
    pub externals: &'static [ExternalTable],
    /// Results whose bits may differ from the reference's because of an operator's tolerance.
    pub tolerances: &'static [ToleranceTable],
    /// One schedule for each number of ranks up to 256 that divides `experts`, and for each number that the build
    /// script adds, in ascending order.
    pub schedules: &'static [ScheduleTable],
    /// The schedules for each number of chunks above 1, in ascending order, if launches choose the number of chunks; otherwise empty. If
    /// launches choose, `chunks` is 1, and `schedules` are those for one chunk.
    pub chosen: &'static [ChunkedSchedules],
}

/// The schedules for launches with one particular number of chunks.
#[derive(Clone, Copy, Debug)]
pub struct ChunkedSchedules {
    /// Number of chunks.
    pub chunks: usize,
    /// One schedule for each number of ranks, as in [`KernelTables::schedules`].
    pub schedules: &'static [ScheduleTable],
}

impl KernelTables {
    /// Number of places for experts on each of `ranks` ranks, including places that stay empty.
    #[must_use]
    pub const fn local_experts(&self, ranks: usize) -> usize {
        hpmoe_kernels::local_experts(self.experts, self.spare, ranks)
    }

    /// Maximum number of chunks if launches choose the number; `None` if it is a constant.
    #[must_use]
    pub fn chunks_at_most(&self) -> Option<usize> {
        self.chosen.last().map(|schedules| schedules.chunks)
    }

    /// Number of parts that a chunk's rows are divided into, for sums over an expert's rows that are added part by part.
    pub(crate) fn chunk_parts(&self) -> usize {
        chunk_parts(self.chunks, self.chunks_at_most())
    }

    /// Whether chunks add to experts' matrices while launches choose the number of chunks. Sums are then added part by part.
    pub(crate) fn adds_by_parts(&self) -> bool {
        let is_sum = |tensor: &TensorTable| tensor.writable && matches!(tensor.row_kind, RowKind::Expert(_));
        self.chunks_at_most().is_some() && self.tensors.iter().any(is_sum)
    }

    /// The tables for launches with `chunks` chunks, a number that launches can choose.
    pub(crate) fn in_chunks(&self, chunks: usize) -> Self {
        let chosen = self.chosen.iter().find(|of| of.chunks == chunks);
        let schedules = chosen.map_or(self.schedules, |of| of.schedules);
        Self { chunks, schedules, ..*self }
    }

    /// The constants that determine the kernel's sizes.
    pub(crate) fn sizes(&self) -> KernelSizes {
        let Self { experts, spare, top_k, tokens, chunks, .. } = *self;
        let groups = self.route.and_then(|route| route.groups).unwrap_or(1);
        let counts_parts = self.route.is_some_and(|route| route.kept || route.keeps.is_some() || self.adds_by_parts());
        KernelSizes {
            experts,
            spare,
            top_k,
            tokens,
            chunks,
            chunks_at_most: self.chunks_at_most(),
            groups,
            counts_parts,
        }
    }

    /// The constants that determine the kernel's memory.
    #[must_use]
    pub fn shape(&self) -> KernelShape<'static> {
        KernelShape {
            sizes: self.sizes(),
            cores: (self.aic + self.aiv) as usize,
            time_stamps: self.time_stamps,
            makes_route: self.route.is_some(),
            tensors: self.tensors.iter().map(TensorTable::shape).collect(),
            spaces: self.spaces.to_vec(),
            counters: self.counters.iter().map(|counter| counter.grid).collect(),
        }
    }
}

/// A route that the kernel makes from ids in device memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RouteTable {
    /// Number of the tensor that the route is made from: ids (an argument, or a tensor that the kernel writes) or a
    /// kept route.
    pub ids: usize,
    /// Whether `ids` is a route that an earlier launch kept, rather than ids.
    pub kept: bool,
    /// Number of expert groups if routing is group-limited (every token picks the same number of experts from each group);
    /// `None` otherwise.
    pub groups: Option<usize>,
    /// Number of the tensor (an argument) that the kernel stores its route in, for later launches; `None` if it keeps no route.
    pub keeps: Option<usize>,
    /// Number of a tensor (an argument) with one row per token, from which a launch learns each rank's number of tokens.
    pub tokens: usize,
    /// Number of phases that run before the route is ready, because they use no table of the route.
    pub before: u32,
    /// The counter that shows that all ids are written; `None` if the caller writes them.
    pub ready: Option<ReadyTable>,
    /// Number of the counter array of the route, whose single counter counts the vector cores that have finished their part of the tables.
    pub made: u32,
    /// The source text of the call that makes the route.
    pub source: &'static str,
    /// Line of the call that makes the route, in the kernel's file.
    pub line: u32,
}

/// A counter that shows that all ids of a rank are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReadyTable {
    /// Number of the counter array, which has a single counter.
    pub counter: u32,
    /// Amount that the phases that write ids add to the counter for each token of the rank.
    pub per_token: u32,
}

/// Where a tensor is stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Storage {
    /// The caller's memory: tensor argument number n of the taskflow.
    Argument(usize),
    /// The caller's memory, which peers write: tensor argument number n of the taskflow.
    Shared(usize),
    /// The rank's workspace, which no peer accesses.
    Workspace,
    /// The symmetric heap, which peers put into.
    Symmetric,
}

/// A tensor of the taskflow; every rank has one.
#[derive(Clone, Copy, Debug)]
pub struct TensorTable {
    /// Name in the taskflow.
    pub name: &'static str,
    /// Element type.
    pub element: ElementType,
    /// Number of columns, the same in every row.
    pub columns: u32,
    /// Distance between the starts of consecutive rows, in elements; at least `columns`.
    pub pitch: u32,
    /// The kind of the rows.
    pub row_kind: RowKind,
    /// Where the tensor is stored.
    pub storage: Storage,
    /// Whether the taskflow writes the tensor.
    pub writable: bool,
}

impl TensorTable {
    fn shape(&self) -> TensorShape<'static> {
        let Self { name, element, columns, pitch, row_kind, writable, .. } = *self;
        let storage = match self.storage {
            Storage::Argument(_) => memory::Storage::Argument,
            Storage::Shared(_) => memory::Storage::Shared,
            Storage::Workspace => memory::Storage::Workspace,
            Storage::Symmetric => memory::Storage::Symmetric,
        };
        TensorShape { name, element, columns, pitch, row_kind, storage, writable }
    }

    /// Bytes from one row to the next.
    pub(crate) const fn row_bytes(&self) -> usize {
        self.pitch as usize * self.element.bytes()
    }
}

/// A task that is implemented by a hand-written C++ function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ExternalTable {
    /// Label of the task, unique among the tasks of the kernel.
    pub task: &'static str,
    /// The file of the C++ function that implements the task, relative to the kernel's package.
    pub file: &'static str,
    /// Whether the C++ function runs on devices only; host runs then use the task's body instead.
    pub device_only: bool,
}

/// A result that may differ from the reference. Each tolerance bounds the difference, relative to the largest element
/// of the tile.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ToleranceTable {
    /// Name of the result: a tensor parameter of the taskflow.
    pub tensor: &'static str,
    /// The tolerance of host runs.
    pub host: f32,
    /// The tolerance of runs on devices, not counting the effect of the cube's order of sums.
    pub device: f32,
}

/// An array of readiness counters.
#[derive(Clone, Copy, Debug)]
pub struct CounterTable {
    /// Data that each counter stands for, in words: the tensor's name and the counter's part of the tensor, as in `g, row tiles of 128`.
    pub name: &'static str,
    /// The parts that have a counter each, from which a launch computes the number of counters in the array.
    pub grid: Grid,
}

/// A call of the taskflow.
#[derive(Clone, Copy, Debug)]
pub struct PhaseTable {
    /// Label of the task, unique among the tasks of the kernel.
    pub task: &'static str,
    /// Name of the call, unique among the kernel's calls, as in `project→g`.
    pub name: &'static str,
    /// The source text of the call.
    pub source: &'static str,
    /// Line of the call in the kernel's file.
    pub line: u32,
    /// Number of the call's space: its index in [`KernelTables::spaces`].
    pub space: u32,
    /// Tiles that precede the phase's own in the numbering that deals tiles to cores, as (space, columns) pairs. The phase's first tile has
    /// as its number the sum over all pairs of the space's number of items times `columns`.
    pub starts: &'static [(u32, u32)],
}

/// The schedule for one number of ranks.
#[derive(Clone, Copy, Debug)]
pub struct ScheduleTable {
    /// Number of ranks in the group.
    pub ranks: u32,
    /// The range of each core's descriptors in `descriptors`, as (number of the first, count); matrix cores come first.
    pub queues: &'static [(u32, u32)],
    /// Descriptors of 64 bytes each in the ABI's format, little endian.
    pub descriptors: &'static [u8],
}
