//! The interface between host and kernel: `include/hpmoe/abi.h` of the device library.

// Made by bindgen; `tests/all/bindings.rs` of `hpmoe-kernels` says how to renew it.
#[rustfmt::skip]
#[expect(missing_docs, clippy::allow_attributes_without_reason, reason = "described in the C header, as bindgen writes it")]
mod bindings;

pub use bindings::*;

/// Counters, ready words and rows of symmetric and workspace buffers lie this many bytes apart.
pub(crate) const LINE: usize = HPMOE_LINE as usize;

/// Number of chunks that have memory at a time.
pub(crate) const CHUNK_BUFFERS: usize = HPMOE_CHUNK_BUFFERS as usize;
