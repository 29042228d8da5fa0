//! The memory that a kernel needs, for callers that make room themselves.

use super::{MemoryPlan, RankSizes};
use crate::tables::RowKind;
use crate::{CompiledKernel, LaunchError, check};

/// The memory that a kernel needs on each rank.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct KernelMemory {
    /// Bytes of the workspace, which the group allocates at the first launch and keeps.
    pub workspace: usize,
    /// Bytes of the symmetric heap, which the group allocates at the first launch and keeps.
    pub heap: usize,
    /// Most rows of a caller's tensor of received rows.
    pub received_rows: usize,
    /// Most rows of a caller's tensor of once-sent rows.
    pub once_rows: usize,
}

impl CompiledKernel {
    /// The memory that a launch on `ranks` ranks needs on each of them, with room for `capacity` received rows (of each chunk); `None`
    /// for as many as any routing can need.
    ///
    /// # Errors
    ///
    /// If the kernel has no schedule for that number of ranks.
    pub fn memory(&self, ranks: usize, capacity: Option<usize>) -> Result<KernelMemory, LaunchError> {
        let tables = self.tables();
        check::schedule(tables, ranks)?;
        let sizes = RankSizes::new(tables, ranks, capacity, false);
        let MemoryPlan { workspace, heap, .. } = MemoryPlan::new(tables, &sizes);
        let received_rows = sizes.caller_rows(RowKind::Received);
        Ok(KernelMemory { workspace, heap, received_rows, once_rows: sizes.caller_rows(RowKind::Once) })
    }
}
