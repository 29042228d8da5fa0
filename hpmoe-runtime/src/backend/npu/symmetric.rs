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
    /// The capability that the NPU lacks.
    fn fits(&self, npu: &Npu) -> Result<(), NpuError>;

    /// Data of this rank that all ranks need for [`begin`](Self::begin).
    ///
    /// # Errors
    ///
    /// The data can't be produced.
    fn offer(&self, rank: usize) -> Result<Vec<u8>, NpuError>;

    /// Prepares for allocations, with the offers of all ranks. All ranks call it; later calls do nothing.
    ///
    /// # Errors
    ///
    /// A call failed on this rank, or on a peer that this rank depends on.
    fn begin(&self, npu: &Npu, rank: usize, offers: &[Vec<u8>]) -> Result<(), NpuError>;

    /// Allocates at least `bytes` bytes that other processes can write. The first `poisoned` bytes have all bits set,
    /// and the rest are zero.
    ///
    /// # Errors
    ///
    /// There is no room, or a call failed.
    fn allocate(&self, npu: &Npu, bytes: usize, poisoned: usize) -> Result<DeviceMemory, NpuError>;

    /// A ticket by which another process can open `memory`, which was allocated here.
    ///
    /// # Errors
    ///
    /// A call failed.
    fn ticket(&self, npu: &Npu, memory: &DeviceMemory) -> Result<Vec<u8>, NpuError>;

    /// Opens the memory that `peer` has allocated, at addresses that kernels on this NPU can write.
    ///
    /// # Errors
    ///
    /// A call failed, or the ticket is not valid.
    fn open(&self, npu: &Npu, rank: usize, peer: usize, ticket: &[u8]) -> Result<DeviceMemory, NpuError>;

    /// Releases the underlying memory if no allocation is left. All ranks call it. If one does not, the others give up
    /// after a few seconds.
    fn end(&self, npu: &Npu);
}
