//! Memory that kernels on the NPUs of several processes share.

use super::{DeviceMemory, Npu, NpuError};

/// Gives memory of an NPU that kernels on the NPUs of other processes write.
///
/// All processes of a group choose the same. They call [`offer`](Self::offer) and [`begin`](Self::begin), then each makes memory, and opens that of the others by
/// their tickets.
pub trait SymmetricMemory: Sync {
    /// Refuses an NPU whose memory can't be shared in this way.
    ///
    /// # Errors
    ///
    /// What it lacks.
    fn fits(&self, npu: &Npu) -> Result<(), NpuError>;

    /// What this rank tells the others before they begin.
    ///
    /// # Errors
    ///
    /// What is needed for that fails.
    fn offer(&self, rank: usize) -> Result<Vec<u8>, NpuError>;

    /// Makes ready what memory comes from, with what each rank has told. All ranks call it; the second time, all is ready.
    ///
    /// # Errors
    ///
    /// A call that failed, here or at a peer that this rank needed.
    fn begin(&self, npu: &Npu, rank: usize, offers: &[Vec<u8>]) -> Result<(), NpuError>;

    /// At least `bytes` bytes that other processes can write, of which the first `poisoned` have all bits set and the others are zero.
    ///
    /// # Errors
    ///
    /// There is no room, or a call failed.
    fn allocate(&self, npu: &Npu, bytes: usize, poisoned: usize) -> Result<DeviceMemory, NpuError>;

    /// What another process needs to open memory that was made here.
    ///
    /// # Errors
    ///
    /// A call that failed.
    fn ticket(&self, npu: &Npu, memory: &DeviceMemory) -> Result<Vec<u8>, NpuError>;

    /// The memory that `peer` has made, at addresses that kernels on this NPU write.
    ///
    /// # Errors
    ///
    /// A call that failed, or a ticket that is none.
    fn open(&self, npu: &Npu, rank: usize, peer: usize, ticket: &[u8]) -> Result<DeviceMemory, NpuError>;

    /// Gives back what memory came from, if nobody has any. All ranks call it; one that does not is waited for for some seconds.
    fn end(&self, npu: &Npu);
}
