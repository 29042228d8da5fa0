//! Memory that processes share by fabric handles.

use super::symmetric::SymmetricMemory;
use super::{DeviceMemory, Npu, NpuError};

/// Sharing by fabric handles: a process exports physical memory under such a handle, and other processes map it.
pub(super) struct Fabric;

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
