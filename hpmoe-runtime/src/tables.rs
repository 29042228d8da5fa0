//! The tables that describe a compiled kernel to the runtime. Generated code fills them in.

use hpmoe_kernels::memory::{self, KernelShape, KernelSizes, TensorShape};
pub use hpmoe_kernels::memory::{Grid, RowKind, SpaceTable};
use hpmoe_kernels::op::ElementType;
pub use hpmoe_kernels::route::ExpertOrders;

/// The tables of one taskflow, scheduled and compiled.
#[derive(Clone, Copy, Debug)]
pub struct KernelTables {
    /// Name of the kernel and its taskflow, `module::taskflow`.
    pub name: &'static str,
    /// Fingerprint of source, constants, compiler and ABI.
    pub fingerprint: &'static str,
    /// Source file, as given to the build script.
    pub file: &'static str,
    /// `EXPERTS`: logical experts, which ids name.
    pub experts: usize,
    /// `SPARE`: places for experts that each rank has beyond its share.
    pub spare: usize,
    /// `TOP_K`: experts that each token goes to.
    pub top_k: usize,
    /// `TOKENS`: most tokens of one rank.
    pub tokens: usize,
    /// Number of chunks that the tokens of each rank are cut into; at least 1.
    pub chunks: usize,
    /// Whether puts to slots read the (token, k) of received rows from a table, because no put sends them.
    pub origins: bool,
    /// The route, if the kernel makes it; otherwise the host does.
    pub route: Option<RouteTable>,
    /// Label of a task that reads all rows of slots, those of empty ones too, so that no slot may be empty; `None` if there is none.
    pub whole_slots: Option<&'static str>,
    /// Matrix cores of a rank that the schedule was made for.
    pub aic: u32,
    /// Vector cores of a rank that the schedule was made for.
    pub aiv: u32,
    /// How queues name experts.
    pub expert_orders: ExpertOrders,
    /// Whether cores keep time stamps of their tiles.
    pub time_stamps: bool,
    /// Tensors by number.
    pub tensors: &'static [TensorTable],
    /// Iteration spaces by number.
    pub spaces: &'static [SpaceTable],
    /// Counter arrays by number.
    pub counters: &'static [CounterTable],
    /// Calls of the taskflow by number.
    pub phases: &'static [PhaseTable],
    /// Tasks that have an external operator.
    pub externals: &'static [ExternalTable],
    /// Results whose bits may differ from the reference's, because of what an operator promises.
    pub tolerances: &'static [ToleranceTable],
    /// One schedule for each number of ranks that divides `experts`, up to 256, and for each that the build names, ascending.
    pub schedules: &'static [ScheduleTable],
    /// The schedules of launches of more chunks, ascending, if launches choose the number: `chunks` is then 1, and `schedules` are those of one
    /// chunk.
    pub chosen: &'static [ChunkedSchedules],
}

/// The schedules of launches of one number of chunks.
#[derive(Clone, Copy, Debug)]
pub struct ChunkedSchedules {
    /// Number of chunks.
    pub chunks: usize,
    /// One schedule for each number of ranks, as in [`KernelTables::schedules`].
    pub schedules: &'static [ScheduleTable],
}

impl KernelTables {
    /// Physical experts of each of `ranks` ranks, places that no logical expert needs among them.
    #[must_use]
    pub const fn local_experts(&self, ranks: usize) -> usize {
        hpmoe_kernels::local_experts(self.experts, self.spare, ranks)
    }

    /// Largest number of chunks if launches choose it; `None` if it is a constant.
    #[must_use]
    pub fn chunks_at_most(&self) -> Option<usize> {
        self.chosen.last().map(|schedules| schedules.chunks)
    }

    /// The tables of launches of this many chunks, which is one of those that they choose from.
    pub(crate) fn in_chunks(&self, chunks: usize) -> Self {
        let chosen = self.chosen.iter().find(|of| of.chunks == chunks);
        let schedules = chosen.map_or(self.schedules, |of| of.schedules);
        Self { chunks, schedules, ..*self }
    }

    /// Sizes of the layer.
    pub(crate) fn sizes(&self) -> KernelSizes {
        let Self { experts, spare, top_k, tokens, chunks, .. } = *self;
        let groups = self.route.and_then(|route| route.groups).unwrap_or(1);
        KernelSizes { experts, spare, top_k, tokens, chunks, chunks_at_most: self.chunks_at_most(), groups }
    }

    /// What the memory of the kernel depends on.
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

/// A route that the kernel makes, of ids in device memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RouteTable {
    /// Number of the tensor of ids: an argument of the taskflow, or one that the kernel writes. Or that of a kept route.
    pub ids: usize,
    /// Whether the route is one that another launch has kept.
    pub kept: bool,
    /// Groups of experts, each with the same number of a token's; `None` if any slot may name any expert.
    pub groups: Option<usize>,
    /// Number of the argument that the route is kept in for other launches.
    pub keeps: Option<usize>,
    /// Number of an argument with a row for each token.
    pub tokens: usize,
    /// Phases that come before the route: they need none of its tables.
    pub before: u32,
    /// What tells that all ids are there; `None` if they are the caller's.
    pub ready: Option<ReadyTable>,
    /// Number of the counter array with one counter, of vector cores that have made their tables.
    pub made: u32,
    /// The call that makes it, as written.
    pub source: &'static str,
    /// Line in the file of the kernel.
    pub line: u32,
}

/// What tells that all ids of a rank are there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReadyTable {
    /// Number of the counter array with one counter.
    pub counter: u32,
    /// What the phases that write ids add to it for each token.
    pub per_token: u32,
}

/// The storage of a tensor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Storage {
    /// The caller's memory: the n-th tensor argument of the taskflow.
    Argument(usize),
    /// The caller's memory, which peers write: the n-th tensor argument of the taskflow.
    Shared(usize),
    /// The rank's workspace, which no peer accesses.
    Workspace,
    /// The symmetric heap, which peers put into.
    Symmetric,
}

/// A tensor of the taskflow, on every rank alike.
#[derive(Clone, Copy, Debug)]
pub struct TensorTable {
    /// Name in the taskflow.
    pub name: &'static str,
    /// Type of its elements.
    pub element: ElementType,
    /// Number of columns, the same in every row.
    pub columns: u32,
    /// Elements from the start of one row to the start of the next; at least `columns`.
    pub pitch: u32,
    /// What its rows stand for.
    pub row_kind: RowKind,
    /// Where it lies.
    pub storage: Storage,
    /// Whether the taskflow writes it.
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

/// A task whose place a hand-written function of C++ takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ExternalTable {
    /// Label of the task, unique among the tasks of the kernel.
    pub task: &'static str,
    /// The file of the function, relative to the package.
    pub file: &'static str,
    /// Whether host runs take the task's body instead.
    pub device_only: bool,
}

/// A result that may differ from the reference's: at most by so much, relative to the largest element of the tile.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ToleranceTable {
    /// Name of the taskflow's parameter.
    pub tensor: &'static str,
    /// The tolerance of host runs.
    pub host: f32,
    /// The tolerance of runs on devices, next to that of the cube's order of sums.
    pub device: f32,
}

/// An array of readiness counters.
#[derive(Clone, Copy, Debug)]
pub struct CounterTable {
    /// The tensor that its counters stand for, and how many rows each of them covers.
    pub name: &'static str,
    /// Number of its counters, as a function of the launch.
    pub grid: Grid,
}

/// A call of the taskflow.
#[derive(Clone, Copy, Debug)]
pub struct PhaseTable {
    /// Label of the task, unique among the tasks of the kernel.
    pub task: &'static str,
    /// Name of the call, unique among those of the kernel, as in `project→g`.
    pub name: &'static str,
    /// The call as written.
    pub source: &'static str,
    /// Line in `file`.
    pub line: u32,
    /// Number of its space.
    pub space: u32,
    /// Tiles that precede the phase's own in the count that deals tiles to cores: all items of each space, times columns.
    pub starts: &'static [(u32, u32)],
}

/// The schedule for one number of ranks.
#[derive(Clone, Copy, Debug)]
pub struct ScheduleTable {
    /// Ranks of the group.
    pub ranks: u32,
    /// `(first, count)` into the descriptors for each core, AICs first.
    pub queues: &'static [(u32, u32)],
    /// Descriptors of 64 bytes each, as the ABI has them, little endian.
    pub descriptors: &'static [u8],
}
