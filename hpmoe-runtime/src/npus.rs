//! NPUs below groups, for programs that look at the hardware itself.

pub use crate::backend::npu::{
    Device, DeviceMemory, Npu, Program, Start, SymmetricMemory, open, open_one, symmetric_memory,
};
pub use crate::bootstrap::local_rank;
