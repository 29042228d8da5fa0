//! The memory that a kernel needs, for callers that allocate it themselves.

use hpmoe_kernels::Rank;
use hpmoe_kernels::memory::{LaunchRows, MemoryTable};

use super::{MemoryPlan, RankSizes};
use crate::tables::RowKind;
use crate::{CompiledKernel, LaunchError, check};

/// The memory that a kernel needs on each rank.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct KernelMemory {
    /// Bytes of the workspace, which the group allocates at the kernel's first launch and keeps.
    pub workspace: usize,
    /// Bytes of the symmetric heap, which the group allocates at the kernel's first launch and keeps.
    pub heap: usize,
    /// Maximum number of rows that a launch uses of a caller's tensor of received rows.
    pub received_rows: usize,
    /// Maximum number of rows that a launch uses of a caller's tensor of once-sent rows.
    pub once_rows: usize,
}

impl CompiledKernel {
    /// The memory that a launch on `ranks` ranks needs on each of them, with room for `capacity` received rows (of each chunk). If
    /// `capacity` is `None`, the default of [`Group::capacity_rows`](crate::Group::capacity_rows) applies.
    ///
    /// # Errors
    ///
    /// If the kernel has no schedule for `ranks` ranks.
    pub fn memory(&self, ranks: usize, capacity: Option<usize>) -> Result<KernelMemory, LaunchError> {
        let tables = self.tables();
        check::schedule(tables, ranks)?;
        let sizes = RankSizes::new(&tables.sizes(), ranks, capacity, false);
        let MemoryPlan { workspace, heap, .. } = MemoryPlan::new(&tables.shape(), &sizes);
        let received_rows = sizes.caller_rows(RowKind::Received);
        Ok(KernelMemory { workspace, heap, received_rows, once_rows: sizes.caller_rows(RowKind::Once) })
    }

    /// The memory that a launch on `ranks` ranks needs on each of them, listed by tensor, with room for `capacity` received rows (of each
    /// chunk). If `capacity` is `None`, the default of [`Group::capacity_rows`](crate::Group::capacity_rows) applies. The listed sizes of
    /// the caller's tensors are those of a rank that has `tokens` tokens and receives as many rows as it has room for.
    ///
    /// # Errors
    ///
    /// If the kernel has no schedule for `ranks` ranks, or `tokens` is more than the number of tokens that it was built for.
    pub fn memory_table(
        &self,
        ranks: usize,
        capacity: Option<usize>,
        tokens: usize,
    ) -> Result<MemoryTable, LaunchError> {
        let tables = self.tables();
        check::schedule(tables, ranks)?;
        check::few_enough(tables, Rank::new(0), tokens)?;
        let sizes = RankSizes::new(&tables.sizes(), ranks, capacity, false);
        Ok(MemoryTable::new(&tables.shape(), &sizes, &LaunchRows { tokens, ..LaunchRows::most(&sizes) }))
    }
}
