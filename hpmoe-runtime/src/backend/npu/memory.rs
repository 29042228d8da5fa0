//! Memory of an NPU.
#![expect(unsafe_code, reason = "copies from and to the memory of callers")]

use hpmoe_kernels::Rank;

use super::acl::{ACL_MEMCPY_DEVICE_TO_HOST, ACL_MEMCPY_HOST_TO_DEVICE, Acl};
use super::device::OnDevice;
use super::{Npu, NpuError};
use crate::Argument;
use crate::abi::LINE;
use crate::memory::POISON;

/// Memory of an NPU that starts on a line.
pub(crate) struct DeviceMemory {
    acl: &'static Acl,
    device: i32,
    address: u64,
    bytes: usize,
}

impl DeviceMemory {
    /// At least `bytes` bytes of anything.
    pub(crate) fn new(npu: &Npu, bytes: usize) -> Result<Self, NpuError> {
        let _here = npu.here()?;
        let bytes = bytes.max(1).next_multiple_of(LINE);
        let address = npu.acl.allocate(bytes)?;
        let memory = Self { acl: npu.acl, device: npu.device, address, bytes };
        match address.is_multiple_of(LINE as u64) {
            true => Ok(memory),
            false => Err(NpuError::Alignment { address }),
        }
    }

    /// At least `bytes` bytes, of which the first `poisoned` have all bits set and the others are zero.
    pub(crate) fn poisoned(npu: &Npu, bytes: usize, poisoned: usize) -> Result<Self, NpuError> {
        let memory = Self::new(npu, bytes)?;
        let _here = npu.here()?;
        for (at, byte, count) in [(0, POISON, poisoned), (poisoned, 0, memory.bytes - poisoned)] {
            if count > 0 {
                npu.acl.fill(memory.address + at as u64, byte, count)?;
            }
        }
        Ok(memory)
    }

    /// Its address as kernels use it.
    pub(crate) const fn address(&self) -> u64 {
        self.address
    }

    /// Writes bytes from a byte offset on.
    pub(crate) fn write(&self, at: usize, bytes: &[u8]) -> Result<(), NpuError> {
        let to = self.part(at, bytes.len());
        // SAFETY: a slice that is borrowed for the call.
        self.copy(bytes.len(), |acl, count| unsafe {
            acl.copy(to, bytes.as_ptr().expose_provenance() as u64, count, ACL_MEMCPY_HOST_TO_DEVICE)
        })
    }

    /// Reads bytes from a byte offset on.
    pub(crate) fn read(&self, at: usize, bytes: &mut [u8]) -> Result<(), NpuError> {
        let from = self.part(at, bytes.len());
        // SAFETY: a slice that is borrowed for the call alone.
        self.copy(bytes.len(), |acl, count| unsafe {
            acl.copy(bytes.as_mut_ptr().expose_provenance() as u64, from, count, ACL_MEMCPY_DEVICE_TO_HOST)
        })
    }

    /// Copies a rank's part of an argument to a byte offset.
    pub(crate) fn copy_in(&self, argument: &Argument<'_>, rank: Rank, at: usize) -> Result<(), NpuError> {
        let count = argument.bytes(rank);
        let to = self.part(at, count);
        // SAFETY: the argument borrows that many bytes of a tensor on this thread.
        self.copy(count, |acl, count| unsafe {
            acl.copy(to, argument.part(rank).address, count, ACL_MEMCPY_HOST_TO_DEVICE)
        })
    }

    /// Copies from a byte offset to a rank's part of an argument.
    ///
    /// # Panics
    ///
    /// If the argument was not borrowed for writing.
    pub(crate) fn copy_out(&self, at: usize, argument: &Argument<'_>, rank: Rank) -> Result<(), NpuError> {
        assert!(argument.writable, "`{}` was passed for reading", argument.name);
        let count = argument.bytes(rank);
        let from = self.part(at, count);
        // SAFETY: the argument borrows that many bytes of cells on this thread.
        self.copy(count, |acl, count| unsafe {
            acl.copy(argument.part(rank).address, from, count, ACL_MEMCPY_DEVICE_TO_HOST)
        })
    }

    /// A copy on this memory's device; the library takes none of zero bytes.
    fn copy(
        &self,
        count: usize,
        copy: impl FnOnce(&'static Acl, usize) -> Result<(), NpuError>,
    ) -> Result<(), NpuError> {
        if count == 0 {
            return Ok(());
        }
        let _here = OnDevice::new(self.acl, self.device)?;
        copy(self.acl, count)
    }

    fn part(&self, at: usize, count: usize) -> u64 {
        let fits = at.checked_add(count).is_some_and(|end| end <= self.bytes);
        assert!(fits, "{count} bytes from byte {at} on are not in {} bytes", self.bytes);
        self.address + at as u64
    }
}

impl Drop for DeviceMemory {
    fn drop(&mut self) {
        // What a failed device can't give back goes with the process.
        let Ok(_here) = OnDevice::new(self.acl, self.device) else { return };
        let _ = self.acl.free(self.address);
    }
}
