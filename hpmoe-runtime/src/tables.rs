//! The tables that describe a compiled kernel to the runtime. Generated code fills them in.

use hpmoe_kernels::op::ElementType;

/// The tables of one taskflow, scheduled and compiled.
#[derive(Clone, Copy, Debug)]
pub struct KernelTables {
    /// `module::taskflow`.
    pub name: &'static str,
    /// Identifies source, constants, compiler and ABI.
    pub fingerprint: &'static str,
    /// Source file, as given to the build script.
    pub file: &'static str,
    /// `EXPERTS`.
    pub experts: usize,
    /// `TOP_K`.
    pub top_k: usize,
    /// `TOKENS`: most tokens of one rank.
    pub tokens: usize,
    /// Into how many chunks the tokens of each rank are cut; at least 1.
    pub chunks: usize,
    /// Puts to slots read the (token, k) of rows received from a table: no put sends them.
    pub origins: bool,
    /// Matrix cores of a rank.
    pub aic: u32,
    /// Vector cores of a rank.
    pub aiv: u32,
    /// Queues begin with a rank's least loaded expert and go on from the most loaded one; else by number.
    pub by_load: bool,
    /// Tensors by number.
    pub tensors: &'static [TensorTable],
    /// Iteration spaces by number.
    pub spaces: &'static [SpaceTable],
    /// Counter arrays by number.
    pub counters: &'static [CounterTable],
    /// Calls of the taskflow by number.
    pub phases: &'static [PhaseTable],
    /// One per number of ranks, ascending; every divisor of `experts` up to 64.
    pub schedules: &'static [ScheduleTable],
}

/// What the rows of a tensor are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RowKind {
    /// A row per token of the rank.
    Token,
    /// A row per (token, k) of the rank.
    Slot,
    /// A row per token received.
    Received,
    /// A row per token received, once however many experts of the rank it goes to.
    Once,
    /// That many rows for each expert of the rank.
    Expert(u32),
    /// That many rows of the rank.
    Matrix(u32),
}

/// Where a tensor lives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Storage {
    /// The n-th tensor argument of the taskflow.
    Argument(usize),
    /// The n-th tensor argument of the taskflow, which peers write.
    Shared(usize),
    /// The rank's workspace.
    Workspace,
    /// The symmetric heap.
    Symmetric,
}

/// A tensor.
#[derive(Clone, Copy, Debug)]
pub struct TensorTable {
    /// Name in the taskflow.
    pub name: &'static str,
    /// Element type.
    pub element: ElementType,
    /// Columns.
    pub columns: u32,
    /// Elements from one row to the next.
    pub pitch: u32,
    /// Rows.
    pub extent: RowKind,
    /// Place.
    pub memory: Storage,
    /// The taskflow writes it.
    pub writable: bool,
}

/// An iteration space; `kind` is one of the `HPMOE_*` space kinds of the ABI.
#[derive(Clone, Copy, Debug)]
pub struct SpaceTable {
    /// `HpmoeSpaceKind`.
    pub kind: u32,
    /// Most rows of an item.
    pub height: u32,
}

/// How many counters an array has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Grid {
    /// `columns` for each row tile of the space with that number.
    RowTiles {
        /// Number of the space.
        space: u32,
        /// Counters per row tile.
        columns: u32,
    },
    /// One per local expert.
    Experts,
    /// One per block of `height` tokens.
    Blocks {
        /// Tokens of a block.
        height: u32,
    },
    /// One.
    Rank,
}

/// An array of readiness counters.
#[derive(Clone, Copy, Debug)]
pub struct CounterTable {
    /// The tensor it guards, and how.
    pub name: &'static str,
    /// Its size.
    pub grid: Grid,
}

/// A call of the taskflow.
#[derive(Clone, Copy, Debug)]
pub struct PhaseTable {
    /// Task label.
    pub task: &'static str,
    /// The call as written.
    pub source: &'static str,
    /// Line in `file`.
    pub line: u32,
    /// Number of its space.
    pub space: u32,
    /// Its tiles are counted on from all tiles of these: space and columns of each.
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
