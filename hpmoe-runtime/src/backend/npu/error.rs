//! Errors of NPUs and of CANN's library, with their messages.

use thiserror::Error;

use super::ShmemError;

/// An error of an NPU, or of the runtime library of CANN.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum NpuError {
    /// The runtime library was not found.
    #[error(
        "there is no runtime library of CANN (tried {tried}: {cause}): install CANN 8.5 or later and run its set_env.sh"
    )]
    NoLibrary {
        /// Names and paths that were tried.
        tried: String,
        /// The loader's message for the last file that exists, or else for the first name.
        cause: String,
    },
    /// CANN's runtime library lacks a function that launches need.
    #[error(
        "`{library}` lacks a call that launches need ({cause}): it is older than CANN 8.5, so install 8.5 or later"
    )]
    OldLibrary {
        /// The library that can't be used.
        library: String,
        /// The system's message.
        cause: String,
    },
    /// The process sees fewer NPUs than its ranks need.
    #[error(
        "the group has {ranks} ranks, each of which needs an NPU, but this process sees {devices}: use fewer ranks, or let it see \
         more by ASCEND_RT_VISIBLE_DEVICES"
    )]
    Devices {
        /// Number of NPUs that are needed: the number of ranks in this process, or, for a rank that is a process, the number of its NPU
        /// plus 1.
        ranks: usize,
        /// Number of NPUs that the process sees.
        devices: u32,
    },
    /// The group's NPUs start at a number that does not exist, or end after the last NPU.
    #[error(
        "the group needs the NPUs {first} to {}, but this process sees {devices}, numbered from 0: choose a lower number, or let it see more by \
         ASCEND_RT_VISIBLE_DEVICES", first + ranks - 1
    )]
    Number {
        /// Number of the first NPU of the group.
        first: usize,
        /// Number of ranks in this process, each of which needs an NPU.
        ranks: usize,
        /// Number of NPUs that the process sees.
        devices: u32,
    },
    /// The message of another process does not describe a memory handle.
    #[error(
        "another process sent a memory handle of {bytes} bytes, which is not the length in this build: start all processes from one build"
    )]
    Ticket {
        /// Number of bytes of the message.
        bytes: usize,
    },
    /// Kernels are not generated for this chip.
    #[error(
        "the NPU is `{soc}`, but kernels are generated for Ascend910B and Ascend910_93 (A2 and A3): use one of these"
    )]
    Chip {
        /// The name of the chip.
        soc: String,
    },
    /// Two NPUs can't access each other's memory.
    #[error(
        "NPU {device} can't access the memory of NPU {peer}: choose NPUs of one server by ASCEND_RT_VISIBLE_DEVICES"
    )]
    Reach {
        /// The NPU that would access the memory.
        device: i32,
        /// The NPU that has the memory.
        peer: i32,
    },
    /// Processes can't share this chip's memory by fabric handles.
    #[error(
        "the NPU is `{soc}`, whose memory processes can't share: fabric handles exist only on Ascend910_93 (A3), so run all ranks in one process, or with HPMOE_SYMMETRIC_MEMORY=shmem"
    )]
    NoFabric {
        /// The name of the chip.
        soc: String,
    },
    /// The NPU is only a part of a physical NPU, whose memory processes can't share.
    #[error(
        "NPU {device} is part of a physical NPU (a virtual instance), whose memory processes can't share: give each rank a whole NPU, or run all ranks in one process"
    )]
    Virtual {
        /// The NPU's number in this process.
        device: i32,
    },
    /// Two ranks have NPUs in different superpods.
    #[error(
        "the NPU of rank {rank} is in superpod {superpod}, and that of rank {peer} in superpod {other}: kernels can't write to other superpods, so start all ranks in one superpod"
    )]
    Superpods {
        /// The rank of this process.
        rank: usize,
        /// Superpod of this rank's NPU.
        superpod: i64,
        /// The rank whose NPU is in another superpod.
        peer: usize,
        /// Superpod of the NPU of rank `peer`.
        other: i64,
    },
    /// CANN gave no handle with which other processes can map the NPU's memory.
    #[error(
        "the memory of NPU {device} got no fabric handle ({cause}): in a container, the driver must be that of the host, and the container must have rights to the NPU's devices (--privileged); if it can't have them, run all ranks in one process"
    )]
    Export {
        /// The NPU's number in this process.
        device: i32,
        /// CANN's error.
        cause: Box<Self>,
    },
    /// The memory of another process can't be mapped.
    #[error(
        "rank {rank} can't map the memory of rank {peer} ({cause}): start both in one container, or in containers with the host's driver and rights to all NPUs of the group (--privileged), as one user"
    )]
    Import {
        /// The rank of this process.
        rank: usize,
        /// The rank that owns the memory.
        peer: usize,
        /// CANN's error.
        cause: Box<Self>,
    },
    /// `HPMOE_SYMMETRIC_MEMORY` has an unknown value.
    #[error(
        "HPMOE_SYMMETRIC_MEMORY is `{value}`, but should be `fabric` or `shmem`: set it so, or unset it for `fabric`"
    )]
    SymmetricMemory {
        /// Value of the variable.
        value: String,
    },
    /// The SHMEM library is missing, or reports an error.
    #[error(transparent)]
    Shmem(#[from] ShmemError),
    /// The kernel was built for the CPU only.
    #[error("{kernel} was compiled for this machine's CPU only: build with HPMOE_DEVICE=cann")]
    NotBuilt {
        /// Name of the kernel, `module::taskflow`.
        kernel: &'static str,
    },
    /// The NPU has fewer cores than the schedule needs.
    #[error(
        "{kernel} was scheduled for {aic} matrix and {aiv} vector cores, but NPU {device} has {found_aic} and {found_aiv}: build \
         it with .matrix_cores({found_aic})"
    )]
    Cores {
        /// Name of the kernel, `module::taskflow`.
        kernel: &'static str,
        /// Number of matrix cores that the schedule needs.
        aic: u32,
        /// Number of vector cores that the schedule needs.
        aiv: u32,
        /// The NPU's number in this process.
        device: i32,
        /// Number of matrix cores that the NPU has.
        found_aic: i64,
        /// Number of vector cores that the NPU has.
        found_aiv: i64,
    },
    /// CANN reports a kernel type that differs from the one that the build checked.
    #[error(
        "CANN loads {kernel} as a kernel of type {found} instead of {wanted} (both kinds of core): build it with another version of CANN"
    )]
    KernelType {
        /// Name of the kernel, `module::taskflow`.
        kernel: &'static str,
        /// The kernel type that the build checked.
        wanted: i64,
        /// The kernel type that CANN reports.
        found: i64,
    },
    /// CANN would start the kernel with a ratio of cores other than one matrix core to two vector cores.
    #[error(
        "CANN starts {kernel} with {aic} matrix to {aiv} vector cores instead of 1 to 2: build it with another version of CANN"
    )]
    Ratio {
        /// Name of the kernel, `module::taskflow`.
        kernel: &'static str,
        /// First number of the ratio that CANN reports: matrix cores.
        aic: u16,
        /// Second number of the ratio that CANN reports: vector cores.
        aiv: u16,
    },
    /// Memory of an NPU does not start at a multiple of 512 bytes, its cache line.
    #[error(
        "CANN gave memory at {address:#x}, which is not a multiple of 512: please report it with the version of CANN"
    )]
    Alignment {
        /// Address of the memory.
        address: u64,
    },
    /// A call of CANN failed.
    #[error("{call} failed with error {code}{}{}", meaning(*.code), said(.says))]
    Call {
        /// The function of CANN that failed.
        call: &'static str,
        /// CANN's error code.
        code: i32,
        /// CANN's message; empty if it gave none.
        says: String,
    },
}

/// CANN's error codes for work that can't reach the memory of another NPU.
const LOST_PEER: [i32; 2] = [507_056, 507_057];

impl NpuError {
    /// Whether work failed because the memory of another NPU can't be reached.
    pub(crate) const fn is_lost_peer(&self) -> bool {
        matches!(self, Self::Call { code, .. } if *code == LOST_PEER[0] || *code == LOST_PEER[1])
    }
}

/// Error codes that a launch can meet, with their meanings and ways out.
const MEANINGS: [(&[i32], &str); 7] = [
    (&[107_000], "a parameter that the library refuses: please report it with the version of CANN"),
    (&[107_017], "a handle that the library doesn't know: please report it with the version of CANN"),
    (&[207_018], "no room in the memory of the NPU: lower Group::capacity_rows, or let other programs end"),
    (
        &[507_014, 507_034],
        "the kernel took longer than its limit, or its cores did not start together: raise Group::time_limit",
    ),
    (&[507_015, 507_035], "a core of the NPU ended with an exception: look at the plog files of CANN (~/ascend/log)"),
    (&[507_046, 507_047], "the NPU's work did not end within the limit: raise Group::time_limit"),
    (&LOST_PEER, "a link between NPUs failed, or the memory of another one is gone: look at `npu-smi info -t health`"),
];

fn meaning(code: i32) -> String {
    let known = MEANINGS.iter().find(|(codes, _)| codes.contains(&code));
    known.map(|(_, words)| format!(" ({words})")).unwrap_or_default()
}

fn said(says: &str) -> String {
    if says.is_empty() { String::new() } else { format!("; CANN says: {says}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_errors_have_a_way_out_and_others_their_number() {
        let call = |code| NpuError::Call { call: "aclrtMalloc", code, says: String::new() }.to_string();
        let said = "aclrtMalloc failed with error 207018 (no room in the memory of the NPU: lower Group::capacity_rows, or let \
                    other programs end)";
        assert_eq!((call(207_018).as_str(), call(1).as_str()), (said, "aclrtMalloc failed with error 1"));
        let error = NpuError::Call { call: "aclInit", code: 2, says: "EZ9999".to_owned() };
        assert_eq!(error.to_string(), "aclInit failed with error 2; CANN says: EZ9999");
    }
}
