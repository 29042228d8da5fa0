//! Pinned host memory, from which argument blocks are copied while the host continues.
//!
//! A copy on a stream reads the host memory later. Blocks therefore lie in slots that are used in rotation: a slot is
//! rewritten only after the launch that used it has ended.
#![expect(unsafe_code, reason = "memory that the library reads later")]

use std::collections::VecDeque;
use std::mem::ManuallyDrop;
use std::ptr::{copy_nonoverlapping, with_exposed_provenance_mut};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::acl::{Acl, Handle};
use super::device::Device;
use super::{DeviceMemory, NpuError};

/// Maximum number of slots, one per launch under way. The next launch waits for the oldest one.
const MOST_SLOTS: usize = 4;

/// A function that waits for the oldest launch whose slot is in use.
pub(crate) type WaitForOldest<'a> = &'a dyn Fn() -> Result<(), NpuError>;

/// Slots of the launches that are on an NPU's stream; the oldest is first.
#[derive(Default)]
pub(super) struct Ring(Mutex<VecDeque<Slot>>);

/// Pinned memory for the argument block of one launch. Slots are made and dropped only while their device is current.
struct Slot {
    acl: &'static Acl,
    address: u64,
    bytes: usize,
    /// Event recorded after the launch.
    done: Handle,
}

/// An argument block whose copy is on the stream, but whose launch is not yet. If it is dropped in this state, nobody knows when the copy
/// ends, so its slot is never reused or freed.
pub(crate) struct SentBlock<'a> {
    device: &'a Device,
    ring: &'a Ring,
    slot: ManuallyDrop<Slot>,
}

impl SentBlock<'_> {
    /// Marks the launch as enqueued: the slot becomes free when the launch has ended.
    pub(crate) fn launched(self) -> Result<(), NpuError> {
        let _here = self.device.here()?;
        self.device.acl.record_event(self.slot.done, self.device.stream)?;
        self.ring.lock().push_back(ManuallyDrop::into_inner(self.slot));
        Ok(())
    }
}

impl Ring {
    /// Enqueues the copy of a launch's argument block. If all slots are in use, `with_patience` is called with a function that waits for
    /// the oldest launch, at most `limit`.
    pub(super) fn send<'a>(
        &'a self,
        device: &'a Device,
        block: &[u8],
        to: &DeviceMemory,
        limit: Duration,
        with_patience: impl FnOnce(WaitForOldest<'_>) -> Result<(), NpuError>,
    ) -> Result<SentBlock<'a>, NpuError> {
        let _here = device.here()?;
        let slot = self.free_slot(device, block.len(), limit, with_patience)?;
        let sent = SentBlock { device, ring: self, slot: ManuallyDrop::new(slot) };
        sent.slot.write(block);
        // SAFETY: the slot is written again only after the event behind the copy has been waited for, and lives until then.
        unsafe { device.acl.copy_later(to.address(), sent.slot.address, block.len(), device.stream)? };
        Ok(sent)
    }

    /// A slot of at least `bytes` bytes that no copy reads any more.
    fn free_slot(
        &self,
        device: &Device,
        bytes: usize,
        limit: Duration,
        with_patience: impl FnOnce(WaitForOldest<'_>) -> Result<(), NpuError>,
    ) -> Result<Slot, NpuError> {
        let mut slots = self.lock();
        if slots.len() == MOST_SLOTS {
            let oldest = &slots[0];
            if !device.acl.is_reached(oldest.done)? {
                with_patience(&|| device.acl.wait_on_host(oldest.done, limit))?;
            }
            // Memory that is too small for this block is freed.
            if let Some(oldest) = slots.pop_front().filter(|oldest| oldest.bytes >= bytes) {
                return Ok(oldest);
            }
        }
        Slot::new(device.acl, bytes)
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Slot>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Frees the memory of all slots. No launch may be on the stream.
    pub(super) fn clear(&self) {
        self.lock().clear();
    }
}

impl Slot {
    fn new(acl: &'static Acl, bytes: usize) -> Result<Self, NpuError> {
        // Blocks of about the same size take the same slot.
        let bytes = bytes.next_power_of_two();
        let done = acl.create_event()?;
        let pinned = acl.allocate_pinned(bytes).inspect_err(|_| drop(acl.destroy_event(done)));
        Ok(Self { acl, address: pinned?, bytes, done })
    }

    fn write(&self, block: &[u8]) {
        assert!(block.len() <= self.bytes, "{} bytes don't fit a slot of {}", block.len(), self.bytes);
        // SAFETY: the slot has that many bytes, which nothing reads or writes now.
        unsafe { copy_nonoverlapping(block.as_ptr(), with_exposed_provenance_mut(self.address as usize), block.len()) };
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        // Memory that a failed device can't free is freed with the process.
        let _ = self.acl.free_pinned(self.address);
        let _ = self.acl.destroy_event(self.done);
    }
}
