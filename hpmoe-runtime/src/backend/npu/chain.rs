//! The order of launches on each NPU of this process.
//!
//! Cores of a kernel wait for the cores of their peers, so two kernels that share NPUs must run in the same order on
//! all of them. Launches take turns, and each waits for the previous launch on its NPU, no matter which thread enqueued that
//! one.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::NpuError;
use super::acl::{Acl, Handle};
use super::on_device::OnDevice;

/// The events that order the launches on one NPU: each launch waits for the end of the previous one.
pub(super) struct Chain {
    acl: &'static Acl,
    /// Event recorded after each launch.
    last: Handle,
    /// Event recorded on a caller's stream, so that a launch can be ordered after the work there.
    before: Handle,
    /// Whether the NPU has had a launch.
    launched: AtomicBool,
}

static CHAINS: Mutex<Vec<(i32, Arc<Chain>)>> = Mutex::new(Vec::new());

/// Ends the use of NPUs: resets those that this process has opened, and finalises CANN's runtime library.
///
/// Call it at the end of a program that has run kernels on NPUs, after all groups have been dropped, and while no other thread opens NPUs. CANN
/// recommends this; on CANN's operator simulator, a process that ends without it crashes. The function undoes only what hpmoe has done, so other
/// libraries in the process can go on. NPUs can be opened again afterwards.
///
/// The function does nothing if no NPU was opened, or if NPUs or their memory are still in use.
///
/// # Errors
///
/// If a call of CANN fails. The other calls are still made.
pub fn end_npus() -> Result<(), NpuError> {
    let Some(acl) = Acl::opened().filter(|acl| !acl.is_in_use()) else { return Ok(()) };
    let chains = std::mem::take(&mut *CHAINS.lock().unwrap_or_else(PoisonError::into_inner));
    let mut ended = Ok(());
    for (device, chain) in chains {
        ended = ended.and(chain.destroy(device));
    }
    ended.and(acl.finalize())
}

/// Returns a lock that the caller holds while it enqueues launches on the streams of their NPUs.
pub(crate) fn take_turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Chain {
    /// The chain of device `device`, which this thread has set. It lives until [`end_npus`].
    pub(super) fn of(acl: &'static Acl, device: i32) -> Result<Arc<Self>, NpuError> {
        let mut chains = CHAINS.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, chain)) = chains.iter().find(|(known, _)| *known == device) {
            return Ok(Arc::clone(chain));
        }
        let (last, before) = (acl.create_event()?, acl.create_event()?);
        let chain = Arc::new(Self { acl, last, before, launched: AtomicBool::new(false) });
        chains.push((device, Arc::clone(&chain)));
        Ok(chain)
    }

    /// Destroys the events, which belong to device `device`.
    fn destroy(&self, device: i32) -> Result<(), NpuError> {
        let _here = OnDevice::new(self.acl, device)?;
        self.acl.destroy_event(self.last).and(self.acl.destroy_event(self.before))
    }

    /// Orders later work on `stream` after the work already enqueued on `other`.
    pub(super) fn follow(&self, stream: Handle, other: Handle) -> Result<(), NpuError> {
        self.acl.record_event(self.before, other)?;
        self.acl.wait_for_event(stream, self.before)
    }

    /// Orders later work on `other` after the last launch.
    pub(super) fn precede(&self, other: Handle) -> Result<(), NpuError> {
        self.acl.wait_for_event(other, self.last)
    }

    /// Enqueues a launch on a stream, after the previous launch on this NPU and before the next one.
    pub(super) fn link(&self, stream: Handle, launch: impl FnOnce() -> Result<(), NpuError>) -> Result<(), NpuError> {
        if self.launched.load(Ordering::Acquire) {
            self.acl.wait_for_event(stream, self.last)?;
        }
        launch()?;
        self.acl.record_event(self.last, stream)?;
        self.launched.store(true, Ordering::Release);
        Ok(())
    }
}
