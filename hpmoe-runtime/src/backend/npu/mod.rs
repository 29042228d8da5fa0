//! The backend that runs kernels on Ascend NPUs, through the runtime library of CANN.
//!
//! The library is opened when a group asks for NPUs. Nothing here was ever run on one.

mod acl;
mod chain;
mod device;
mod error;
mod kept;
mod memory;
mod program;
mod ring;
mod shmem;
mod symmetric;

pub(crate) use chain::take_turn;
pub(crate) use device::open_with_peers;
pub use device::{Npu, open, open_one};
pub use error::NpuError;
pub(crate) use kept::LentMemory;
pub use memory::DeviceMemory;
pub use program::{Program, Start};
pub(crate) use ring::{SentBlock, WaitForOldest};
pub use shmem::ShmemError;
pub(crate) use symmetric::SharedByGroup;
pub use symmetric::{SymmetricMemory, symmetric_memory};

/// A group of processes is broken, which may no longer do the same: this one ends without waiting for the others.
pub(crate) fn ends_alone() {
    shmem::ends_alone();
}
