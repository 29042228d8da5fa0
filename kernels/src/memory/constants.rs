//! Constants of the device library.

use crate::abi::{HPMOE_CHUNK_BUFFERS, HPMOE_LINE};

/// Counters, words and rows of the workspace and the symmetric heap start this many bytes apart, or at multiples of it.
pub const LINE: usize = HPMOE_LINE as usize;

/// The number of chunks whose rows have memory at the same time.
pub const CHUNK_BUFFERS: usize = HPMOE_CHUNK_BUFFERS as usize;
