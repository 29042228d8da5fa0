//! NPUs below groups, for programs that look at the hardware itself.

pub use crate::backend::npu::{DeviceMemory, Npu, Program, Start, open, open_one};
pub use crate::bootstrap::local_rank;
