//! The order of launches on each NPU of this process.
//!
//! Cores of a kernel wait for the cores of their peers, so two kernels that share NPUs must run in the same order on
//! all of them. Launches take turns, and each waits for the previous launch on its NPU, no matter which thread enqueued that
//! one.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::NpuError;
use super::acl::{Acl, Handle};

/// The event that a launch on an NPU waits for: the end of the previous launch.
pub(super) struct Chain {
    acl: &'static Acl,
    /// Recorded after each launch.
    last: Handle,
    /// Recorded on a stream of the caller that a launch follows.
    before: Handle,
    /// Whether the NPU has run a launch.
    launched: AtomicBool,
}

/// Held while a row of launches is put on the streams of its NPUs.
pub(crate) fn take_turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Chain {
    /// The chain of a device, which this thread has set. It lives as long as the process.
    pub(super) fn of(acl: &'static Acl, device: i32) -> Result<Arc<Self>, NpuError> {
        static CHAINS: Mutex<Vec<(i32, Arc<Chain>)>> = Mutex::new(Vec::new());
        let mut chains = CHAINS.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, chain)) = chains.iter().find(|(known, _)| *known == device) {
            return Ok(Arc::clone(chain));
        }
        let (last, before) = (acl.create_event()?, acl.create_event()?);
        let chain = Arc::new(Self { acl, last, before, launched: AtomicBool::new(false) });
        chains.push((device, Arc::clone(&chain)));
        Ok(chain)
    }

    /// Orders later work on a stream after the work already on another one.
    pub(super) fn follow(&self, stream: Handle, other: Handle) -> Result<(), NpuError> {
        self.acl.record_event(self.before, other)?;
        self.acl.wait_for_event(stream, self.before)
    }

    /// Orders later work on another stream after the last launch.
    pub(super) fn precede(&self, other: Handle) -> Result<(), NpuError> {
        self.acl.wait_for_event(other, self.last)
    }

    /// Puts work on a stream that comes after the launch before it, and before the next one.
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
