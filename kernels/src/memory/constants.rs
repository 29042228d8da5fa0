//! Constants of the device library.

use crate::abi::{HPMOE_CHUNK_BUFFERS, HPMOE_LINE};

/// Alignment of counters, words and rows in the workspace and the symmetric heap, in bytes.
pub const LINE: usize = HPMOE_LINE as usize;

/// The number of chunks whose rows have memory at the same time.
pub const CHUNK_BUFFERS: usize = HPMOE_CHUNK_BUFFERS as usize;
