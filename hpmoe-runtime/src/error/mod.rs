//! Errors of launches, with their messages.

mod argument;
mod effect;
mod words;

pub use argument::ArgumentError;

use std::fmt;

use hpmoe_kernels::memory::{MemoryPlan, RankSizes};
use hpmoe_kernels::printable::printable;
use hpmoe_kernels::{Rank, RouteError};
use thiserror::Error;

use crate::KernelTables;
use crate::backend::host::Resource;
use crate::backend::npu::NpuError;
use crate::bootstrap::BootstrapError;
use crate::report::{StuckReport, size_text};
use words::{at, each_value, lines, list, of_chunks, of_npu, room};

/// An error of a launch. Most errors are found before anything starts, and all ranks return them.
///
/// A launch that runs can end with [`Stuck`](Self::Stuck), [`Rule`](Self::Rule), [`Resource`](Self::Resource), [`Lost`](Self::Lost),
/// [`Cancelled`](Self::Cancelled), [`Npu`](Self::Npu) or [`NpuLaunch`](Self::NpuLaunch); the group can't be used after that. A kernel that
/// makes its route can also find [`Route`](Self::Route), [`Capacity`](Self::Capacity) or [`EmptySlot`](Self::EmptySlot) before it sends a
/// row; the group stays usable.
#[derive(Clone, Error)]
#[non_exhaustive]
pub enum LaunchError {
    /// The route and the group have different numbers of ranks.
    #[error("the route is for {route} ranks, but the group has {group}: make both with the same number")]
    RouteRanks {
        /// Number of ranks that the route was made for.
        route: usize,
        /// Number of ranks in the group.
        group: usize,
    },
    /// A delay was set for a rank that the group does not have.
    #[error("there is a delay for rank {rank}, but the group has {ranks} ranks: delay one from 0 to {}", .ranks.saturating_sub(1))]
    DelayedRank {
        /// The rank that the delay was set for.
        rank: usize,
        /// Number of ranks in the group.
        ranks: usize,
    },
    /// `HPMOE_CHECKS`, which switches checks of host runs on or off, has an invalid value.
    #[error("HPMOE_CHECKS is `{value}`, but should be `on` or `off`: set it so, or unset it for `on`", value = printable(.value))]
    Checks {
        /// Value of the variable.
        value: String,
    },
    /// The group is to search for races, which needs checks of host runs, but checks are off.
    #[error(
        "the group should search for races (Group::find_races), but checks are off (Group::checks or HPMOE_CHECKS): switch them on"
    )]
    UncheckedRaces,
    /// The kernel has no schedule for this number of ranks.
    #[error(
        "{kernel} has no schedule for {ranks} ranks: use one of {}, or name {ranks} in the build script, by `.ranks({ranks})`",
        list(.available)
    )]
    NoSchedule {
        /// Name of the kernel, `module::taskflow`.
        kernel: &'static str,
        /// Number of ranks in the group.
        ranks: usize,
        /// Numbers of ranks for which there are schedules.
        available: Vec<u32>,
    },
    /// The route and the kernel were made with different constants.
    #[error(
        "the route has {name} = {route}, but {kernel} was built with {built}: make the route with the kernel's constants"
    )]
    RouteConstant {
        /// Name of the kernel, `module::taskflow`.
        kernel: &'static str,
        /// `EXPERTS` or `TOP_K`.
        name: &'static str,
        /// Value in the route.
        route: usize,
        /// Value in the kernel.
        built: usize,
    },
    /// The placement, or the route made with one, has a different number of places for experts than the kernel.
    #[error(
        "there are {placed} places for experts on each rank, but {kernel} was built with {built}: use a placement with {built} places on each"
    )]
    Places {
        /// Name of the kernel, `module::taskflow`.
        kernel: &'static str,
        /// Number of places on each rank in the route or the placement.
        placed: usize,
        /// Number of places on each rank that the kernel was built with.
        built: usize,
    },
    /// The group has a placement, but the route was made with another placement or without one.
    #[error(
        "the route's placement is not the group's: make the route by Route::placed with the placement that Group::placed was given, or launch it \
on the group without one"
    )]
    OtherPlacement,
    /// A placement was passed to a fixed launch that was fixed without one, or whose kernel takes its route from the host.
    #[error("the launch of {kernel} was fixed without a placement: fix it on a group that has one (`Group::placed`)")]
    Unplaced {
        /// Name of the kernel, `module::taskflow`.
        kernel: &'static str,
    },
    /// The kernel sends each token once to each rank, but an expert has several places. A kernel that also makes its route refuses any
    /// placement of the group.
    #[error(
        "{kernel} sends each token once to a rank (`route.sends_once`), but some expert has several places: give each expert one place, or \
send tokens for every expert (`route.sends`)"
    )]
    Copies {
        /// Name of the kernel, `module::taskflow`.
        kernel: &'static str,
    },
    /// An expert has several places, the chunks add to experts' matrices, and launches choose the number of chunks. The place that a row
    /// goes to, and thus the sums, would then depend on the number of chunks.
    #[error(
        "{kernel} adds to gradients of experts and chooses its number of chunks, but some expert has several places, whose gradients would \
depend on that number: give each expert one place, or build the kernel without chunks_at_most"
    )]
    CopiesOfSums {
        /// Name of the kernel, `module::taskflow`.
        kernel: &'static str,
    },
    /// A rank has more tokens than the kernel was built for.
    #[error(
        "rank {rank} has {tokens} tokens, but {kernel} was built with TOKENS = {limit}: raise TOKENS or pass fewer tokens"
    )]
    Tokens {
        /// Name of the kernel, `module::taskflow`.
        kernel: &'static str,
        /// The rank that has too many tokens.
        rank: usize,
        /// Number of the rank's tokens.
        tokens: usize,
        /// The maximum number of tokens per rank that the kernel accepts, `TOKENS`.
        limit: usize,
    },
    /// A slot is empty, but a task reads all slots.
    #[error(
        "topk_ids of rank {rank}, row {token}, column {k} is -1, which names no expert, but {kernel} has a task that reads all slots, \
         `{task}`: give each slot an expert, or read slots only in vector tasks without an external operator"
    )]
    EmptySlot {
        /// Name of the kernel, `module::taskflow`.
        kernel: &'static str,
        /// Label of the task: a matrix task, a put, or one with an external operator.
        task: &'static str,
        /// The rank that the slot belongs to.
        rank: usize,
        /// The slot's token: the row of the empty id in the rank's ids.
        token: usize,
        /// Column of the empty id in its row.
        k: usize,
    },
    /// A tensor does not match the kernel or the route.
    #[error(transparent)]
    Argument(#[from] ArgumentError),
    /// Ranks would receive more rows (of a chunk) than they have room for. The error names the rank that would receive the
    /// most.
    #[error(
        "rank {rank} would receive {rows} rows{}, but there is room for {capacity}: raise it with Group::capacity_rows({rows}), which takes \
         {missing} more bytes on each rank, or send fewer tokens", of_chunks(*.chunks)
    )]
    Capacity {
        /// The rank that would receive the most rows.
        rank: usize,
        /// Number of rows that the rank would receive.
        rows: usize,
        /// Number of rows that the rank has room for.
        capacity: usize,
        /// The maximum number of chunks, for which `rows` is counted, if launches choose the number; `None` if the number is a constant.
        chunks: Option<usize>,
        /// Additional bytes of workspace and symmetric heap, per rank, that make room for `rows` rows.
        missing: usize,
    },
    /// Earlier launches failed because of invalid ids or too many rows. Their reasons are not known, because the host has
    /// waited only for the last launch.
    #[error(
        "{launches} launches of {kernel} before the last one had invalid ids or more rows than there is room for, and wrote nothing: wait after each launch to see which and why"
    )]
    Unrouted {
        /// Name of the kernel, `module::taskflow`.
        kernel: &'static str,
        /// Number of failed launches since the previous wait, without the last launch.
        launches: u32,
    },
    /// Streams, or a number of launches by graphs, were passed to a group that does not run on NPUs.
    #[error("streams of NPUs were passed, but the group runs on the host: pass none, or use Group::on_npus")]
    Streams,
    /// A pending launch uses memory that this launch needs, or the placement that was to be changed.
    #[error(
        "{kernel} has a launch that is pending and uses the memory that this one needs: wait for it first (Pending::wait)"
    )]
    Pending {
        /// Name of the kernel, `module::taskflow`.
        kernel: &'static str,
    },
    /// The machine has no room for the kernel's buffers.
    #[error(
        "{kernel} needs {} on each of {ranks} ranks to receive up to {capacity} rows, more than this machine can address: {}", size_text(*.bytes), room(*.rows)
    )]
    Memory {
        /// Name of the kernel, `module::taskflow`.
        kernel: &'static str,
        /// Bytes that a rank needs; `usize::MAX` if the number is larger still.
        bytes: usize,
        /// Number of ranks in the group.
        ranks: usize,
        /// Number of received rows that the memory would have room for.
        capacity: usize,
        /// The maximum number of rows that any rank receives, if the host has made the route; `None` otherwise.
        rows: Option<usize>,
    },
    /// This machine refused a resource that a rank needs. All ranks have been stopped.
    #[error("rank {rank} could not get {resource} ({cause}): {}, then make a new Group", resource.way_out())]
    Resource {
        /// The rank that needs the resource.
        rank: usize,
        /// The resource that was refused.
        resource: Resource,
        /// The system's message.
        cause: String,
    },
    /// The processes make different launches, or have different settings.
    #[error(
        "the ranks disagree about {subject}: {}; start all processes from one build with the same arguments, and make the \
         same calls in the same order", each_value(.values)
    )]
    Disagreement {
        /// The property in which the processes differ.
        subject: &'static str,
        /// The values of the property, each with the ranks that have this value.
        values: Vec<(Vec<usize>, String)>,
    },
    /// Another process could not start the launch.
    #[error("rank {rank} failed with this error: {message}")]
    OtherRank {
        /// The rank that could not start the launch.
        rank: usize,
        /// The message of that rank's error.
        message: String,
    },
    /// A process could not map the heap of a rank.
    #[error(
        "rank {rank} could not map the heap of rank {peer} ({cause}): run all processes on one Linux machine, in one \
         namespace of processes (/proc), as one user"
    )]
    SharedMemory {
        /// The rank that tried to map the heap.
        rank: usize,
        /// The rank that the heap belongs to.
        peer: usize,
        /// The system's message.
        cause: String,
    },
    /// Peers write a tensor in several launches in a row. This is not possible if ranks are processes.
    #[error(
        "peers write `{tensor}`, and {launches} launches in a row would overwrite each other's rows if ranks are processes: launch one at a time"
    )]
    Row {
        /// Name of the tensor in the taskflow.
        tensor: &'static str,
        /// Number of launches in the row.
        launches: usize,
    },
    /// Joining the group failed, or an exchange between its processes failed before the kernel ran.
    #[error(transparent)]
    Peers(#[from] BootstrapError),
    /// The route is invalid, for instance because an id names no expert. The host finds this when it makes the route; a kernel that makes
    /// its own route finds it before it sends a row.
    #[error(transparent)]
    Route(#[from] RouteError),
    /// A route was passed to a kernel that makes its own.
    #[error("{kernel} makes its route itself, from the ids among its tensors: launch it without a route")]
    SecondRoute {
        /// Name of the kernel, `module::taskflow`.
        kernel: &'static str,
    },
    /// No route was passed to a kernel that needs one.
    #[error("{kernel} takes a route: make one from the router's ids with Route::new or Route::gather")]
    NoRoute {
        /// Name of the kernel, `module::taskflow`.
        kernel: &'static str,
    },
    /// The reference was called for a group whose ranks are processes. A reference runs all ranks in one process, one after the other.
    #[error(
        "the reference of {kernel} can't be called: the ranks of the group are processes; make a group whose ranks are threads"
    )]
    ReferenceOfProcesses {
        /// Name of the kernel, `module::taskflow`.
        kernel: &'static str,
    },
    /// The kernel makes its route, and the route of a group of this size can be too large for the kernel's tables.
    #[error(
        "{kernel} makes its route itself, for at most {limit} {what}, but on {ranks} ranks there can be {value}: {way_out}, or give it a \
         route that the host makes (`route: &Route`)"
    )]
    RouteTooLarge {
        /// Name of the kernel, `module::taskflow`.
        kernel: &'static str,
        /// Number of ranks in the group.
        ranks: usize,
        /// The unit of `value` and `limit`, for the message.
        what: &'static str,
        /// The largest number of this unit that a launch of the group can need.
        value: usize,
        /// The largest number of this unit that fits into the tables.
        limit: usize,
        /// Advice, for the message: what the user can change.
        way_out: &'static str,
    },
    /// A [`Cancel`](crate::Cancel) ended the launch before its cores had finished.
    #[error("the launch was cancelled, and its results are incomplete: make a new group to go on")]
    Cancelled,
    /// A rank was lost while the kernel ran.
    #[error("{cause}{}{}", of_npu(.npu.as_deref()), lines(.report.as_deref()))]
    Lost {
        /// The error that names the lost rank and says how its loss was noticed.
        cause: BootstrapError,
        /// The error that stopped this process's NPU because of the loss; `None` if the kernel ended by itself.
        npu: Option<Box<NpuError>>,
        /// The state of the cores of this process's rank; `None` if it could not be read.
        report: Option<Box<StuckReport>>,
    },
    /// An NPU, CANN's runtime library or the SHMEM library is not in the required state, or a call of a library failed.
    #[error(transparent)]
    Npu(#[from] NpuError),
    /// A launch on NPUs failed, and the records of its cores could be read.
    #[error("rank {rank}: {cause}\n{report}")]
    NpuLaunch {
        /// The rank whose NPU failed first.
        rank: usize,
        /// CANN's error.
        cause: NpuError,
        /// The state of the cores of all ranks; if ranks are processes, only of this process's rank.
        report: Box<StuckReport>,
    },
    /// An earlier launch or exchange of the group failed, so the group's counters can't be trusted.
    #[error("an earlier launch of this group went wrong and left its counters undefined: make a new Group")]
    Broken,
    /// The kernel made no progress within the time limit.
    #[error("{0}")]
    Stuck(StuckReport),
    /// The kernel broke a rule of the device.
    #[error("{message}{}", at(.source_line))]
    Rule {
        /// The core that broke the rule, its AscendC call, and the rule, in words.
        message: String,
        /// Source line, task, tile and call that the core was running; `None` if it had not started any.
        source_line: Option<String>,
    },
}

impl LaunchError {
    /// The error for a task that reads all slots, if slot `slot` of `rank` is empty.
    pub(crate) const fn empty_slot(tables: &KernelTables, task: &'static str, rank: Rank, slot: usize) -> Self {
        let (token, k) = (slot / tables.top_k, slot % tables.top_k);
        Self::EmptySlot { kernel: tables.name, task, rank: rank.id(), token, k }
    }

    /// The error for `rank`, which would receive the most rows: `rows`, more than its capacity.
    pub(crate) fn capacity(tables: &KernelTables, sizes: &RankSizes, rank: Rank, rows: usize) -> Self {
        let shape = tables.shape();
        let needed = |sizes: &RankSizes| MemoryPlan::new(&shape, sizes).needed();
        let missing = needed(&RankSizes { capacity: rows, ..*sizes }).saturating_sub(needed(sizes));
        Self::Capacity { rank: rank.id(), rows, capacity: sizes.capacity, chunks: sizes.chunks_at_most, missing }
    }

    /// The error for a rank that could not get a resource.
    pub(crate) const fn lacking(rank: usize, resource: Resource, cause: String) -> Self {
        Self::Resource { rank, resource, cause }
    }
}

/// Prints the text of `Display`, because `unwrap` and `main` print errors by `Debug`.
impl fmt::Debug for LaunchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests;
