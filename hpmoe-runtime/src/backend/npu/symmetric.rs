//! Memory that kernels on the NPUs of several processes share.

use super::{DeviceMemory, Npu, NpuError};

/// A way to allocate NPU memory that kernels of other processes can write.
///
/// All processes of a group use the same implementation. Each calls [`offer`](Self::offer) and [`begin`](Self::begin),
/// then allocates memory, and opens the memory of its peers by their tickets.
pub trait SymmetricMemory: Sync {
    /// Checks that this NPU's memory can be shared in this way.
    ///
    /// # Errors
    ///
    /// If the NPU lacks a capability, which the error names.
    fn fits(&self, npu: &Npu) -> Result<(), NpuError>;

    /// Data of rank `rank`, which is this process, that all ranks need for [`begin`](Self::begin).
    ///
    /// # Errors
    ///
    /// If the data can't be produced.
    fn offer(&self, rank: usize) -> Result<Vec<u8>, NpuError>;

    /// Prepares for allocations, with the offers of all ranks. All ranks call it; later calls do nothing.
    ///
    /// # Errors
    ///
    /// If a call fails on this rank, or on a peer that this rank depends on.
    fn begin(&self, npu: &Npu, rank: usize, offers: &[Vec<u8>]) -> Result<(), NpuError>;

    /// Allocates at least `bytes` bytes that other processes can write. The first `poisoned` bytes have all bits set,
    /// and the rest are zero.
    ///
    /// # Errors
    ///
    /// If there is no room, or a call fails.
    fn allocate(&self, npu: &Npu, bytes: usize, poisoned: usize) -> Result<DeviceMemory, NpuError>;

    /// A ticket with which another process can [`open`](Self::open) `memory`. This process has allocated `memory` by
    /// [`allocate`](Self::allocate).
    ///
    /// # Errors
    ///
    /// If a call fails.
    fn ticket(&self, npu: &Npu, memory: &DeviceMemory) -> Result<Vec<u8>, NpuError>;

    /// Opens the memory that rank `peer` has allocated and made `ticket` for, at addresses that kernels on this NPU can write. `rank` is
    /// the rank of this process.
    ///
    /// # Errors
    ///
    /// If a call fails, or the ticket is not valid.
    fn open(&self, npu: &Npu, rank: usize, peer: usize, ticket: &[u8]) -> Result<DeviceMemory, NpuError>;

    /// Releases the underlying memory if no allocation is left. All ranks call it; if one rank does not, the others stop waiting for it
    /// after 5 seconds.
    fn end(&self, npu: &Npu);
}
