//! The interface between host and kernel: `include/hpmoe/abi.h` of the device library.

pub use hpmoe_kernels::abi::*;

/// Counters, ready words and rows of symmetric and workspace buffers lie this many bytes apart.
pub(crate) const LINE: usize = HPMOE_LINE as usize;

/// Number of chunks that have memory at a time.
pub(crate) const CHUNK_BUFFERS: usize = HPMOE_CHUNK_BUFFERS as usize;
