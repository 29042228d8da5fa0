//! The interface between host and kernel: `include/hpmoe/abi.h` of the device library.

pub use hpmoe_kernels::abi::*;

pub(crate) use hpmoe_kernels::memory::{CHUNK_BUFFERS, LINE};
