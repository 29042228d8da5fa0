//! The backend that runs kernels on Ascend NPUs, through CANN's runtime library.
//!
//! The library is opened when a group asks for NPUs. This code has never run on an NPU.

mod acl;
mod chain;
mod device;
mod error;
mod fabric;
mod kept;
mod lent;
mod memory;
mod on_device;
mod opened;
mod program;
mod ring;
mod sharing;
mod shmem;
mod symmetric;

pub use chain::end_npus;
pub(crate) use chain::take_turn;
pub use device::Device;
pub use error::NpuError;
pub(crate) use lent::LentMemory;
pub use memory::DeviceMemory;
pub(crate) use opened::open_with_peers;
pub use opened::{Npu, open, open_one};
pub use program::{Program, Start};
pub(crate) use ring::{SentBlock, WaitForOldest};
pub(crate) use sharing::SharedByGroup;
pub use sharing::symmetric_memory;
pub use shmem::ShmemError;
pub(crate) use shmem::ends_alone;
pub use symmetric::SymmetricMemory;
