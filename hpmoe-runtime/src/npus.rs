//! Direct access to NPUs, without a group, for programs that inspect the hardware.

pub use crate::backend::npu::{
    Device, DeviceMemory, Npu, Program, Start, SymmetricMemory, open, open_one, symmetric_memory,
};
pub use crate::bootstrap::local_rank;
