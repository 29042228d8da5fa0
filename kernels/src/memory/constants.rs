//! Constants of the device library.

use crate::abi::{HPMOE_CHUNK_BUFFERS, HPMOE_LINE};

/// Alignment of tensors, counters and each kind of word in the workspace and the symmetric heap, in bytes. Rows are aligned to
/// it, too, except those of the caller's tensors.
pub const LINE: usize = HPMOE_LINE as usize;

/// Maximum number of chunks whose rows have memory at the same time.
pub const CHUNK_BUFFERS: usize = HPMOE_CHUNK_BUFFERS as usize;
