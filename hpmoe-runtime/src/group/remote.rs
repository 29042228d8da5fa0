//! Heaps of ranks on other machines, which an engine writes.
#![expect(unsafe_code, reason = "memory that an engine gives")]

use std::io;
use std::sync::Arc;

use crate::LaunchError;
use crate::backend::host::{SharedMapping, Write, Writer};
use crate::bootstrap::BootstrapError;
use crate::engine::OpenShmem;

/// The heaps of all ranks, by the addresses that kernels of this process use for them.
pub(super) struct RemoteHeaps {
    engine: &'static OpenShmem,
    rank: usize,
    heaps: Vec<u64>,
}

impl RemoteHeaps {
    /// Makes the heap of each rank. The first `poisoned` bytes of this rank's heap have all bits set, and the others are zero. Heaps of
    /// other ranks have addresses in this process, but no memory. All ranks must call this.
    pub(super) fn new(
        engine: &'static OpenShmem,
        rank: usize,
        ranks: usize,
        bytes: usize,
        poisoned: usize,
    ) -> Result<(Self, Vec<Arc<SharedMapping>>), LaunchError> {
        let lacking = || {
            let what = format!(
                "OpenSHMEM has no room for a heap of {bytes} bytes on each rank, and keeps those of earlier launches: raise SHMEM_SYMMETRIC_HEAP_SIZE, or make room for fewer rows with \
                 Group::capacity_rows"
            );
            BootstrapError::Failed(what)
        };
        let own = engine.allocate(bytes)?.ok_or_else(lacking)?;
        let unmapped = |cause: io::Error| LaunchError::SharedMemory { rank, peer: rank, cause: cause.to_string() };
        let heap = |peer: usize| match peer == rank {
            // SAFETY: the engine keeps the memory that it has given until the process ends, and gives it to no other caller.
            true => unsafe { SharedMapping::lent(own, bytes, poisoned) },
            false => SharedMapping::elsewhere(bytes),
        };
        let heaps =
            (0..ranks).map(heap).map(|heap| heap.map(Arc::new)).collect::<io::Result<Vec<_>>>().map_err(unmapped)?;
        Ok((Self { engine, rank, heaps: heaps.iter().map(|heap| heap.address()).collect() }, heaps))
    }

    /// Ends the launches of all other ranks: writes the abort word, at byte `abort_at` of each heap.
    pub(super) fn abort(&self, abort_at: usize) {
        for rank in (0..self.heaps.len()).filter(|rank| *rank != self.rank) {
            self.write(rank, self.heaps[rank] + abort_at as u64, &1_i32.to_ne_bytes(), Write::Put);
        }
    }
}

impl Writer for RemoteHeaps {
    fn write(&self, rank: usize, to: u64, from: &[u8], how: Write) {
        // For the engine, a place in any heap has the address of the same place in this rank's heap.
        self.engine.write(rank, self.heaps[self.rank] + (to - self.heaps[rank]), from, how);
    }
}
