//! The backend that runs kernels on this machine's CPU.

mod fault;
mod ffi;
#[cfg(test)]
pub(crate) mod library;
mod mapping;
mod outcome;
mod region;
mod resource;
mod statistics;
mod writer;

pub use fault::InjectedFault;
pub use ffi::StandardArithmetic;
pub(crate) use ffi::{Races, RankRun};
#[cfg(all(target_os = "linux", not(miri)))]
pub(crate) use mapping::nameless_file;
pub(crate) use mapping::{Mapping, NoMapping, SharedMapping};
pub(crate) use outcome::Outcome;
pub(crate) use region::MemoryRegion;
pub use resource::Resource;
pub use statistics::HostStatistics;
pub(crate) use writer::{Write, Writer};

/// A limit of host runs that is printed with their results. The README of the host's AscendC lists the others.
pub(crate) const LIMITS: &str = "run on this machine's CPU: the results are the kernel's, the time is not the device's";
/// The report's note about a host run without checks.
pub(crate) const UNCHECKED: &str = "checks off: races and stale cache lines were not looked for";
