//! Memory that kernels on the NPUs of several processes share: what gives it, and the choice between them.

use std::env;
use std::sync::Arc;

use hpmoe_kernels::printable::printable;

use super::{DeviceMemory, Npu, NpuError, shmem::Shmem};

/// The variable that chooses what gives the memory.
const CHOICE: &str = "HPMOE_SYMMETRIC_MEMORY";

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

/// Ends what gives memory, with the group that has used it.
pub(crate) struct SharedByGroup {
    shared: &'static dyn SymmetricMemory,
    npu: Arc<Npu>,
}

impl SharedByGroup {
    /// What the environment chooses, for a group with this NPU.
    pub(crate) fn chosen(npu: &Arc<Npu>) -> Result<Self, NpuError> {
        Ok(Self { shared: symmetric_memory()?, npu: Arc::clone(npu) })
    }
}

impl Drop for SharedByGroup {
    fn drop(&mut self) {
        self.shared.end(&self.npu);
    }
}

/// What gives the memory that processes share: fabric handles, or with `HPMOE_SYMMETRIC_MEMORY=shmem` CANN's SHMEM library.
///
/// # Errors
///
/// The variable names something else, or the library can't be opened.
pub fn symmetric_memory() -> Result<&'static dyn SymmetricMemory, NpuError> {
    match env::var_os(CHOICE).filter(|value| !value.is_empty()) {
        None => Ok(&Fabric),
        Some(value) if value == "fabric" => Ok(&Fabric),
        Some(value) if value == "shmem" => Ok(Shmem::get()?),
        Some(value) => Err(NpuError::SymmetricMemory { value: printable(&value.to_string_lossy()).into() }),
    }
}

/// Physical memory that has a fabric handle, by which other processes map it.
struct Fabric;

impl SymmetricMemory for Fabric {
    fn fits(&self, npu: &Npu) -> Result<(), NpuError> {
        npu.has_fabric()
    }

    fn offer(&self, _: usize) -> Result<Vec<u8>, NpuError> {
        Ok(Vec::new())
    }

    fn begin(&self, _: &Npu, _: usize, _: &[Vec<u8>]) -> Result<(), NpuError> {
        Ok(())
    }

    fn allocate(&self, npu: &Npu, bytes: usize, poisoned: usize) -> Result<DeviceMemory, NpuError> {
        DeviceMemory::physical(npu, bytes, poisoned)
    }

    fn ticket(&self, npu: &Npu, memory: &DeviceMemory) -> Result<Vec<u8>, NpuError> {
        memory.fabric_ticket().map_err(|cause| NpuError::Export { device: npu.number(), cause: Box::new(cause) })
    }

    fn open(&self, npu: &Npu, rank: usize, peer: usize, ticket: &[u8]) -> Result<DeviceMemory, NpuError> {
        DeviceMemory::of_fabric(npu, ticket).map_err(|cause| NpuError::Import { rank, peer, cause: Box::new(cause) })
    }

    fn end(&self, _: &Npu) {}
}
