//! Memory of an NPU.
#![expect(unsafe_code, reason = "copies from and to the memory of callers")]

use std::sync::Arc;

use hpmoe_kernels::Rank;

use super::NpuError;
use super::acl::{ACL_MEMCPY_DEVICE_TO_HOST, ACL_MEMCPY_HOST_TO_DEVICE, Acl, FabricName, Handle, InUse};
use super::device::Device;
use super::on_device::OnDevice;
use super::shmem::Heap;
use crate::Argument;
use crate::abi::LINE;
use crate::memory::POISON;

/// NPU memory that starts on a cache line.
pub struct DeviceMemory {
    acl: &'static Acl,
    device: i32,
    address: u64,
    bytes: usize,
    owner: Owner,
    _in_use: InUse,
}

/// The owner of memory, which decides how it is freed.
enum Owner {
    /// Allocated for this process alone.
    Allocated,
    /// Physical memory that this process has mapped; other processes may map it, too.
    Mapped(Handle),
    /// A part of a heap that processes share.
    Lent(Arc<Heap>),
    /// Memory of another process, which this process does not free.
    Peer,
}

/// Size of a large page. Shared memory consists of whole large pages.
const LARGE_PAGE: usize = 2 << 20;

impl DeviceMemory {
    /// Allocates at least `bytes` bytes with unspecified contents.
    ///
    /// # Errors
    ///
    /// If a call of CANN fails.
    pub fn new(device: &Device, bytes: usize) -> Result<Self, NpuError> {
        let _here = device.here()?;
        let bytes = bytes.max(1).next_multiple_of(LINE);
        let address = device.acl.allocate(bytes)?;
        Self::at(device, address, bytes, Owner::Allocated)
    }

    /// The memory at an address of a device. If the address is not at the start of a line, the memory is released as `owner` says.
    fn at(device: &Device, address: u64, bytes: usize, owner: Owner) -> Result<Self, NpuError> {
        let (acl, number) = (device.acl, device.number());
        let memory = Self { acl, device: number, address, bytes, owner, _in_use: InUse::new(acl) };
        match address % LINE as u64 == 0 {
            true => Ok(memory),
            false => Err(NpuError::Alignment { address }),
        }
    }

    /// Allocates memory that other processes can map. The first `poisoned` bytes have all bits set, and the others are zero.
    pub(super) fn physical(device: &Device, bytes: usize, poisoned: usize) -> Result<Self, NpuError> {
        let _here = device.here()?;
        let bytes = bytes.max(1).next_multiple_of(LARGE_PAGE);
        let memory = Self::mapped(device, bytes, device.acl.allocate_physical(device.number(), bytes)?)?;
        memory.poison(poisoned)?;
        Ok(memory)
    }

    /// The ticket with which another process can map this memory. Panics if the memory is not physical memory of this process.
    pub(super) fn fabric_ticket(&self) -> Result<Vec<u8>, NpuError> {
        let Owner::Mapped(physical) = self.owner else { panic!("no other process maps this memory") };
        let _here = OnDevice::new(self.acl, self.device)?;
        Ok([&(self.bytes as u64).to_le_bytes()[..], &self.acl.export(physical)?].concat())
    }

    /// Maps the physical memory of another process.
    pub(super) fn of_fabric(device: &Device, ticket: &[u8]) -> Result<Self, NpuError> {
        let _here = device.here()?;
        let parts =
            ticket.split_first_chunk().and_then(|(bytes, name)| Some((bytes, FabricName::try_from(name).ok()?)));
        let (bytes, name) = parts.ok_or(NpuError::Ticket { bytes: ticket.len() })?;
        Self::mapped(device, u64::from_le_bytes(*bytes) as usize, device.acl.import(name)?)
    }

    /// Wraps a part of a heap on this NPU that processes share. The first `poisoned` bytes are set to all bits, all others to zero.
    pub(super) fn lent(
        device: &Device,
        address: u64,
        bytes: usize,
        poisoned: usize,
        heap: Arc<Heap>,
    ) -> Result<Self, NpuError> {
        let memory = Self::at(device, address, bytes, Owner::Lent(heap))?;
        memory.poison(poisoned)?;
        Ok(memory)
    }

    /// Wraps memory of another process, which kernels of this NPU write.
    pub(super) fn of_peer(device: &Device, address: u64, bytes: usize) -> Result<Self, NpuError> {
        Self::at(device, address, bytes, Owner::Peer)
    }

    /// Maps physical memory at new addresses of this process.
    fn mapped(device: &Device, bytes: usize, physical: Handle) -> Result<Self, NpuError> {
        let acl = device.acl;
        let mapped = acl.reserve(bytes).and_then(|address| match acl.map(address, bytes, physical) {
            Ok(()) => Ok(address),
            Err(error) => {
                // The first error is reported.
                let _ = acl.release(address);
                Err(error)
            }
        });
        match mapped {
            Ok(address) => Self::at(device, address, bytes, Owner::Mapped(physical)),
            Err(error) => {
                let _ = acl.free_physical(physical);
                Err(error)
            }
        }
    }

    /// Allocates at least `bytes` bytes. The first `poisoned` bytes have all bits set, and the rest are zero.
    ///
    /// # Errors
    ///
    /// If a call of CANN fails.
    pub fn poisoned(device: &Device, bytes: usize, poisoned: usize) -> Result<Self, NpuError> {
        let memory = Self::new(device, bytes)?;
        memory.poison(poisoned)?;
        Ok(memory)
    }

    fn poison(&self, poisoned: usize) -> Result<(), NpuError> {
        let _here = OnDevice::new(self.acl, self.device)?;
        for (at, byte, count) in [(0, POISON, poisoned), (poisoned, 0, self.bytes - poisoned)] {
            if count > 0 {
                self.acl.fill(self.address + at as u64, byte, count)?;
            }
        }
        Ok(())
    }

    /// Number of bytes allocated, which may be more than were requested.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.bytes
    }

    /// The device address.
    #[must_use]
    pub const fn address(&self) -> u64 {
        self.address
    }

    /// Writes `bytes` at byte offset `at`.
    ///
    /// # Errors
    ///
    /// If a call of CANN fails.
    ///
    /// # Panics
    ///
    /// If `at + bytes.len()` exceeds the size of the memory.
    pub fn write(&self, at: usize, bytes: &[u8]) -> Result<(), NpuError> {
        let to = self.part(at, bytes.len());
        // SAFETY: a slice that is borrowed for the call.
        self.copy(bytes.len(), |acl, count| unsafe {
            acl.copy(to, bytes.as_ptr().expose_provenance() as u64, count, ACL_MEMCPY_HOST_TO_DEVICE)
        })
    }

    /// Reads into `bytes` from byte offset `at`.
    ///
    /// # Errors
    ///
    /// If a call of CANN fails.
    ///
    /// # Panics
    ///
    /// If `at + bytes.len()` exceeds the size of the memory.
    pub fn read(&self, at: usize, bytes: &mut [u8]) -> Result<(), NpuError> {
        let from = self.part(at, bytes.len());
        // SAFETY: a slice that is borrowed only for this call.
        self.copy(bytes.len(), |acl, count| unsafe {
            acl.copy(bytes.as_mut_ptr().expose_provenance() as u64, from, count, ACL_MEMCPY_DEVICE_TO_HOST)
        })
    }

    /// Copies a rank's part of an argument into this memory, at byte offset `at`.
    pub(crate) fn copy_in(&self, argument: &Argument<'_>, rank: Rank, at: usize) -> Result<(), NpuError> {
        let count = argument.bytes(rank);
        let to = self.part(at, count);
        // SAFETY: the argument borrows that many bytes of a tensor on this thread.
        self.copy(count, |acl, count| unsafe {
            acl.copy(to, argument.part(rank).address, count, ACL_MEMCPY_HOST_TO_DEVICE)
        })
    }

    /// Copies from byte offset `at` of this memory to a rank's part of an argument.
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

    /// Calls `copy` with this memory's device selected, unless `count` is 0: the library refuses copies of zero bytes.
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
        // Memory that a failed device can't free is freed with the process.
        let Ok(_here) = OnDevice::new(self.acl, self.device) else { return };
        match &self.owner {
            Owner::Allocated => drop(self.acl.free(self.address)),
            Owner::Lent(heap) => heap.give_back(self.address, self.bytes),
            Owner::Peer => {}
            Owner::Mapped(physical) => {
                let _ = self.acl.unmap(self.address);
                let _ = self.acl.free_physical(*physical);
                let _ = self.acl.release(self.address);
            }
        }
    }
}
