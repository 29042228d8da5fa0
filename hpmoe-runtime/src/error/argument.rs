//! Errors of the tensors of a launch.

use hpmoe_kernels::op::ElementType;
use thiserror::Error;

use crate::report::counted;

/// A tensor that does not match the kernel or the route.
#[derive(Clone, Debug, Error)]
#[non_exhaustive]
pub enum ArgumentError {
    /// The number of tensors passed differs from the number of the taskflow's tensors.
    #[error("{kernel} takes {wanted} tensors, but got {got}: rebuild, so that kernel and caller agree")]
    Arity {
        /// Name of the kernel, `module::taskflow`.
        kernel: &'static str,
        /// Number of the taskflow's tensors.
        wanted: usize,
        /// Number of tensors passed.
        got: usize,
    },
    /// The number of parts of a tensor is not the number of ranks.
    #[error(
        "`{tensor}` has parts for {parts} ranks, but the group has {ranks}: give one part per rank, with zero rows for a rank without tokens"
    )]
    Parts {
        /// Name of the tensor in the taskflow.
        tensor: &'static str,
        /// Number of ranks that the tensor has parts for.
        parts: usize,
        /// Number of ranks in the group.
        ranks: usize,
    },
    /// A tensor has parts for ranks other than those of this process.
    #[error(
        "`{tensor}` holds the parts of {parts}, but this process runs {group}: make it with PerRank::from_fn(group.ranks(), ..)"
    )]
    PartsHere {
        /// Name of the tensor in the taskflow.
        tensor: &'static str,
        /// The ranks that the tensor has parts for.
        parts: String,
        /// The ranks that run in this process.
        group: String,
    },
    /// A tensor has a different element type or width than the kernel was built for.
    #[error(
        "`{tensor}` has {got_columns} columns of {got}, but the kernel was built for {columns} columns of {element}: rebuild, so that kernel and caller agree"
    )]
    Type {
        /// Name of the tensor in the taskflow.
        tensor: &'static str,
        /// Element type that the kernel requires.
        element: ElementType,
        /// Number of columns that the kernel requires.
        columns: usize,
        /// Element type passed.
        got: ElementType,
        /// Number of columns passed.
        got_columns: usize,
    },
    /// A tensor's rows are of a different kind than the kernel was built for.
    #[error("`{tensor}` has {got}, but the kernel was built for {wanted}: rebuild, so that kernel and caller agree")]
    Kind {
        /// Name of the tensor in the taskflow.
        tensor: &'static str,
        /// Kind of rows that the kernel requires.
        wanted: String,
        /// Kind of rows that was passed.
        got: String,
    },
    /// A tensor's number of rows, experts or words differs from the number that the route or the kernel requires.
    #[error("`{tensor}` of rank {rank} has {got} {unit}, but {reason} {wanted}: {way_out}")]
    Rows {
        /// Name of the tensor in the taskflow.
        tensor: &'static str,
        /// The rank whose part of the tensor does not fit.
        rank: usize,
        /// The unit of `got` and `wanted`: rows, experts or words.
        unit: &'static str,
        /// Number of this unit that the part has.
        got: usize,
        /// Number of this unit that is required.
        wanted: usize,
        /// The reason for the required number, for the message.
        reason: &'static str,
        /// Advice, for the message: what the user can change.
        way_out: &'static str,
    },
    /// A kept route, or memory for one, is for a different number of chunks than the kernel counts rows in.
    #[error(
        "`{tensor}` of rank {rank} is for a route in {}, but this kernel counts rows in {}: give it as many words as \
         PerRank::routed_in_chunks does, and build the kernels of both passes with the same number of chunks",
        chunks(*.got), chunks(*.wanted)
    )]
    KeptChunks {
        /// Name of the tensor in the taskflow.
        tensor: &'static str,
        /// The rank whose part of the tensor is for another number of chunks.
        rank: usize,
        /// Number of chunks that the rank's part of the tensor is for.
        got: usize,
        /// Number of chunks that the kernel counts rows in: the maximum number if launches choose it, or the constant.
        wanted: usize,
    },
    /// A tensor is in the memory of NPUs, where the group can't use it.
    #[error("`{tensor}` lies in the memory of NPUs, {reason}: {way_out}")]
    OnNpus {
        /// Name of the tensor in the taskflow.
        tensor: &'static str,
        /// The reason why the group can't use the tensor there.
        reason: &'static str,
        /// Advice, for the message: what the user can change.
        way_out: &'static str,
    },
    /// A part of a tensor is not in the memory of its rank's NPU.
    #[error("`{tensor}` of rank {rank} lies at {address:#x}, {}, but the rank runs on NPU {npu}: {}", found_in(*.found), way_to(*.found, *.npu))]
    Elsewhere {
        /// Name of the tensor in the taskflow.
        tensor: &'static str,
        /// The rank that the part belongs to.
        rank: usize,
        /// Address of the part's first or last byte.
        address: u64,
        /// The NPU that owns the address; `None` if no NPU does.
        found: Option<i32>,
        /// The NPU that the rank runs on.
        npu: i32,
    },
    /// A tensor of a fixed launch on NPUs is in this machine's memory.
    #[error(
        "`{tensor}` lies in this machine's memory, but a fixed launch on NPUs copies nothing: pass a tensor of the NPUs (Argument::on_npus), \
         or launch it by Group::launch"
    )]
    OnHost {
        /// Name of the tensor in the taskflow.
        tensor: &'static str,
    },
    /// A fixed launch was given a different tensor than the one it was made for.
    #[error(
        "`{tensor}` has a different address or number of rows than when the launch was fixed: pass the same tensor with other data in it, or call \
         Group::fix for this one"
    )]
    Moved {
        /// Name of the tensor in the taskflow.
        tensor: &'static str,
    },
    /// A part of a tensor does not start at a multiple of the required alignment.
    #[error(
        "`{tensor}` of rank {rank} starts at address {address:#x}, but parts start at multiples of {alignment} bytes: copy it to such an address"
    )]
    Alignment {
        /// Name of the tensor in the taskflow.
        tensor: &'static str,
        /// The rank that the part belongs to.
        rank: usize,
        /// Address of the part.
        address: u64,
        /// Required alignment in bytes.
        alignment: usize,
    },
    /// The kernel writes a tensor that was passed as an input.
    #[error("the kernel writes `{tensor}`, but it was passed for reading: rebuild, so that kernel and caller agree")]
    ReadOnly {
        /// Name of the tensor in the taskflow.
        tensor: &'static str,
    },
}

fn chunks(count: usize) -> String {
    counted(count as u64, "chunk", "chunks")
}

/// The owner of an address, in words.
fn found_in(found: Option<i32>) -> String {
    match found {
        Some(npu) => format!("in the memory of NPU {npu}"),
        None => "which is not memory of an NPU: the host's, or memory that has been freed".to_owned(),
    }
}

fn way_to(found: Option<i32>, npu: i32) -> String {
    match found {
        Some(found) => format!("pass a tensor of NPU {npu}, or make the group on NPU {found}"),
        None => format!("pass a tensor of NPU {npu}, and keep it until the launch has ended"),
    }
}
