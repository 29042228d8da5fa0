//! The memory that the library has allocated for this process.

use std::sync::{Mutex, PoisonError};

use super::ranges::FreeRanges;

/// The piece of memory of this process.
pub(in crate::backend::npu) struct Heap {
    /// The device whose memory it is.
    pub(super) device: i32,
    /// Whether the program has initialised the library, which is then its to finalise.
    pub(super) of_program: bool,
    pub(super) rank: usize,
    pub(super) ranks: usize,
    pub(super) base: u64,
    pub(super) free: Mutex<FreeRanges>,
}

impl Heap {
    /// Takes back memory that it has lent.
    pub(in crate::backend::npu) fn give_back(&self, address: u64, bytes: usize) {
        self.free.lock().unwrap_or_else(PoisonError::into_inner).give_back((address - self.base) as usize, bytes);
    }
}
