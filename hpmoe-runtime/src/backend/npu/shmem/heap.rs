//! The memory that the SHMEM library has allocated for this process.

use std::sync::{Mutex, PoisonError};

use super::ranges::FreeRanges;

/// The block that the SHMEM library has allocated for this process, with the list of its free ranges.
pub(in crate::backend::npu) struct Heap {
    /// Number of the device that the block lies on.
    pub(super) device: i32,
    /// Whether the program has initialised the library, rather than this runtime. The program then finalises it, too.
    pub(super) of_program: bool,
    pub(super) rank: usize,
    pub(super) ranks: usize,
    pub(super) base: u64,
    pub(super) free: Mutex<FreeRanges>,
}

impl Heap {
    /// Returns a range to the free ranges.
    pub(in crate::backend::npu) fn give_back(&self, address: u64, bytes: usize) {
        self.free.lock().unwrap_or_else(PoisonError::into_inner).give_back((address - self.base) as usize, bytes);
    }
}
