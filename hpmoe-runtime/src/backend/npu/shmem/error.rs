//! Errors of CANN's SHMEM library, with their messages.

use std::ffi::c_int;

use thiserror::Error;

use super::bindings::ACLSHMEM_SUCCESS;

/// An error of CANN's SHMEM library, or of the way that it is used.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum ShmemError {
    /// The SHMEM library was not found.
    #[error(
        "there is no SHMEM library of CANN (tried {tried}: {cause}): install it and run its set_env.sh, or unset HPMOE_SYMMETRIC_MEMORY to share memory by fabric handles"
    )]
    NoLibrary {
        /// Names and paths that were tried.
        tried: String,
        /// The loader's message for the last file that exists, or else for the first name.
        cause: String,
    },
    /// The SHMEM library lacks a function that groups need.
    #[error("`{library}` lacks a call that groups need ({cause}): install SHMEM 1.3 or later")]
    OldLibrary {
        /// The library that can't be used.
        library: String,
        /// The system's message.
        cause: String,
    },
    /// `HPMOE_SHMEM_HEAP_MIB` is not a valid size.
    #[error(
        "HPMOE_SHMEM_HEAP_MIB is `{value}`, but should be a number of MiB from 2 to 40,000: set it so, or unset it for 1024"
    )]
    HeapSize {
        /// Value of the variable.
        value: String,
    },
    /// Two ranks ask for SHMEM heaps of different sizes (`HPMOE_SHMEM_HEAP_MIB`).
    #[error(
        "rank {rank} has a SHMEM heap of {mib} MiB and rank {peer} one of {other} MiB: set HPMOE_SHMEM_HEAP_MIB to one value on all ranks"
    )]
    Sizes {
        /// The rank of this process.
        rank: usize,
        /// Heap size of this rank, in MiB.
        mib: usize,
        /// The rank with a different heap size.
        peer: usize,
        /// Heap size of rank `peer`, in MiB.
        other: usize,
    },
    /// Rank 0 can't listen for the SHMEM library, or its address can't be resolved.
    #[error(
        "rank {rank} has no address for SHMEM ({cause}): set MASTER_ADDR to a name or address of rank 0's machine, for all ranks"
    )]
    Address {
        /// The rank of this process.
        rank: usize,
        /// The step that failed, and why.
        cause: String,
    },
    /// The program has initialised the SHMEM library in some processes of the group, but not in all.
    #[error(
        "the program has initialised SHMEM on rank {with}, but not on rank {without}: do so on all ranks, or on none"
    )]
    Begun {
        /// A rank whose process has initialised the library.
        with: usize,
        /// A rank whose process has not initialised the library.
        without: usize,
    },
    /// The SHMEM library has another process number than the rank of this process, or another number of processes than the group has ranks.
    /// The program, or an earlier group, has initialised it so.
    #[error(
        "this process is rank {rank} of {ranks}, but the program has initialised SHMEM in it as process {pe} of {pes}: give it the same number in both, and use groups of all processes"
    )]
    Number {
        /// The rank of this process.
        rank: usize,
        /// Number of ranks in the group.
        ranks: usize,
        /// Number that the SHMEM library gives this process, counted from 0.
        pe: i32,
        /// Number of processes that the SHMEM library was initialised for.
        pes: i32,
    },
    /// The program has initialised the library for a different NPU than the one that kernels run on.
    #[error(
        "the program has initialised SHMEM on NPU {heap}, but rank {rank} runs on NPU {device}: call aclrtSetDevice with number {device} before it initialises SHMEM, or make the group by Group::on_npus_from({heap})"
    )]
    Device {
        /// The rank of this process.
        rank: usize,
        /// The NPU for which the program has initialised the SHMEM library, and whose memory it allocates.
        heap: i32,
        /// The NPU that this rank runs on.
        device: i32,
    },
    /// The SHMEM library could not allocate its heap, the memory that kernels of all processes share.
    #[error(
        "SHMEM gave no heap of {mib} MiB: lower HPMOE_SHMEM_HEAP_MIB, or initialise SHMEM with more if the program does so itself; its own output says more"
    )]
    NoHeap {
        /// Requested size in MiB.
        mib: usize,
    },
    /// The SHMEM library's heap has no free block that is large enough for a kernel.
    #[error(
        "rank {rank} needs {bytes} bytes that peers can write, but only {left} bytes in one piece are left of the {mib} MiB (HPMOE_SHMEM_HEAP_MIB) for all kernels: raise it, or lower Group::capacity_rows"
    )]
    Room {
        /// The rank of this process.
        rank: usize,
        /// Bytes that the kernel needs.
        bytes: usize,
        /// Bytes of the largest free block.
        left: usize,
        /// Size of the heap in MiB.
        mib: usize,
    },
    /// The SHMEM library gave no address at which this rank's kernels can write the memory of a peer.
    #[error(
        "SHMEM gives rank {rank} no address for the memory of rank {peer}: kernels can't write beyond a server or superpod, so start all ranks in one"
    )]
    Reach {
        /// The rank of this process.
        rank: usize,
        /// The rank that owns the memory.
        peer: usize,
    },
    /// A call of the SHMEM library failed.
    #[error("{call} failed with error {code}{}: its own output says why (SHMEM_LOG_LEVEL=INFO for more)", meaning(*.code))]
    Call {
        /// The function of the SHMEM library that failed.
        call: &'static str,
        /// The library's error code.
        code: i32,
    },
}

/// The meaning of the library's error codes.
fn meaning(code: i32) -> &'static str {
    match code {
        -1 => " (a parameter that it refuses)",
        -2 => " (a value out of its range)",
        -3 => " (an error of its memory)",
        -4 => " (an internal error)",
        -5 => " (it was not initialised)",
        -6 => " (processes that don't find each other)",
        -7 | -10 => " (a process that did not come in time)",
        -8 => " (no room for memory)",
        -9 | -11 => " (a library that it needs can't be used)",
        -100 => " (this NPU or driver can't do it)",
        _ => "",
    }
}

/// The error of a call of the library that has failed.
pub(super) fn check(call: &'static str, code: c_int) -> Result<(), ShmemError> {
    match u32::try_from(code) == Ok(ACLSHMEM_SUCCESS) {
        true => Ok(()),
        false => Err(ShmemError::Call { call, code }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_numbers_have_words_and_others_are_told() {
        let text = |code| ShmemError::Call { call: "aclshmemx_init_attr", code }.to_string();
        assert_eq!(
            text(-7),
            "aclshmemx_init_attr failed with error -7 (a process that did not come in time): its own output says why (SHMEM_LOG_LEVEL=INFO for more)"
        );
        assert!(text(5).starts_with("aclshmemx_init_attr failed with error 5: its own output"));
    }
}
