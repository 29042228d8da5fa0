//! The interface between host and kernel: bindings of `include/hpmoe/abi.h` in the device library.

pub use hpmoe_kernels::abi::*;

pub(crate) use hpmoe_kernels::memory::{CHUNK_BUFFERS, LINE};
