//! The backend that runs kernels on this machine's CPU.

mod ffi;
#[cfg(test)]
pub(crate) mod library;
mod mapping;

pub(crate) use ffi::Races;
#[cfg(all(target_os = "linux", not(miri)))]
pub(crate) use mapping::nameless_file;
pub(crate) use mapping::{Mapping, NoMapping, SharedMapping};

use std::sync::atomic::AtomicI32;

use crate::error::Resource;
use crate::{EntryPoint, InjectedFault};

/// A limit of host runs that is printed with their results. The README of the host's AscendC lists the others.
pub(crate) const LIMITS: &str = "run on this machine's CPU: the results are the kernel's, the time is not the device's";

/// Counts of a rank's work on the host, over all its cores.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(C)]
pub struct HostStatistics {
    /// AscendC calls of all kinds.
    pub calls: u64,
    /// Bytes moved between global and on-chip memory.
    pub dma_bytes: u64,
    /// Copies between global and on-chip memory.
    pub dmas: u64,
    /// Calls of the cube.
    pub mmads: u64,
    /// Floating-point operations of the cube.
    pub mmad_flops: u64,
    /// Calls of the vector unit.
    pub vector_calls: u64,
    /// Waits for flags.
    pub flag_waits: u64,
}

impl HostStatistics {
    /// All figures, in the order of the fields.
    pub(crate) const fn figures(&self) -> [u64; 7] {
        [self.calls, self.dma_bytes, self.dmas, self.mmads, self.mmad_flops, self.vector_calls, self.flag_waits]
    }

    /// From all figures, in the order of the fields.
    pub(crate) const fn from_figures(figures: [u64; 7]) -> Self {
        let [calls, dma_bytes, dmas, mmads, mmad_flops, vector_calls, flag_waits] = figures;
        Self { calls, dma_bytes, dmas, mmads, mmad_flops, vector_calls, flag_waits }
    }

    /// Adds another rank's.
    pub(crate) fn add(&mut self, other: &Self) {
        self.calls += other.calls;
        self.dma_bytes += other.dma_bytes;
        self.dmas += other.dmas;
        self.mmads += other.mmads;
        self.mmad_flops += other.mmad_flops;
        self.vector_calls += other.vector_calls;
        self.flag_waits += other.flag_waits;
    }
}

/// A range of global memory that a kernel may access.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MemoryRegion {
    pub(crate) name: &'static str,
    pub(crate) address: u64,
    pub(crate) bytes: usize,
    pub(crate) rank: u32,
    pub(crate) symmetric: bool,
    pub(crate) writable: bool,
    /// Whether each word shows by its value that it has come, so that accesses need no other order.
    pub(crate) self_validating: bool,
}

/// How memory of a rank is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Write {
    /// Its bytes are replaced.
    Put,
    /// Its words are added to.
    Add,
}

/// Who writes the memory of ranks that is not mapped here, and adds to words that several ranks add to.
pub(crate) trait Writer: Sync {
    /// Writes at an address of a region of that rank. Writes to a rank arrive in the order of these calls.
    fn write(&self, rank: usize, to: u64, from: &[u8], how: Write);
}

/// One launch on one rank.
pub(crate) struct RankRun<'a> {
    pub(crate) entry: EntryPoint,
    /// Address of the launch structure.
    pub(crate) launch: u64,
    pub(crate) rank: u32,
    pub(crate) aic: u32,
    pub(crate) aiv: u32,
    /// Threads that share the cores.
    pub(crate) threads: u32,
    /// Seed for the order of everything that flags leave open.
    pub(crate) seed: u64,
    pub(crate) regions: &'a [MemoryRegion],
    /// The search for races that all ranks of the launch take part in; by this program's implementation of AscendC.
    pub(crate) races: Option<&'a Races>,
    /// Who writes the memory of other ranks; without one, it is mapped here.
    pub(crate) writer: Option<&'a dyn Writer>,
    /// The resource that a test lets be missing.
    pub(crate) fault: Option<InjectedFault>,
}

/// The end of a launch on one rank.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Outcome {
    /// All cores finished.
    Left(HostStatistics),
    /// A core broke a rule.
    BrokenRule { message: String, core: usize },
    /// This machine had not enough of a resource.
    Lacking { resource: Resource, cause: String },
    /// Another rank could not go on.
    Stopped,
}

impl RankRun<'_> {
    /// Runs the kernel and returns when all cores have finished. `stop` is shared by the ranks that run together.
    pub(crate) fn run(&self, stop: &AtomicI32) -> Outcome {
        ffi::run(self, stop)
    }
}
