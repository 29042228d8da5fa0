//! The end of the library's use.
//!
//! CANN asks that a process undoes each `aclrtSetDevice` by an `aclrtResetDevice` and each `aclInit` before it ends, but not from a destructor
//! that runs at the exit. The library counts these calls, so that other code in the process keeps its own.

use std::ptr::null_mut;
use std::sync::atomic::Ordering;

use super::to_undo::Calls;
use super::{Acl, NpuError};

/// A device, a kernel or memory of the library, which keeps the library from being finalised.
pub(in super::super) struct InUse(&'static Acl);

impl InUse {
    pub(in super::super) fn new(acl: &'static Acl) -> Self {
        acl.to_undo.in_use.fetch_add(1, Ordering::AcqRel);
        Self(acl)
    }
}

impl Drop for InUse {
    fn drop(&mut self) {
        self.0.to_undo.in_use.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Acl {
    /// Initialises the library, unless that was done.
    pub(super) fn initialize_once(&self) -> Result<(), NpuError> {
        let mut calls = self.to_undo.lock();
        if !calls.initialized {
            self.initialize()?;
            calls.initialized = true;
        }
        Ok(())
    }

    pub(in super::super) fn set_device(&self, device: i32) -> Result<(), NpuError> {
        let mut calls = self.to_undo.lock();
        // SAFETY: takes a number.
        self.check("aclrtSetDevice", unsafe { self.calls.aclrtSetDevice(device) })?;
        *calls.sets.entry(device).or_default() += 1;
        Ok(())
    }

    /// Whether devices, kernels or memory exist.
    pub(in super::super) fn is_in_use(&self) -> bool {
        self.to_undo.in_use.load(Ordering::Acquire) > 0
    }

    /// Resets each device as many times as it was set, and undoes the initialisation. Returns the first error.
    pub(in super::super) fn finalize(&self) -> Result<(), NpuError> {
        let Calls { initialized, sets } = std::mem::take(&mut *self.to_undo.lock());
        let mut ended = Ok(());
        for (device, count) in sets {
            for _ in 0..count {
                // SAFETY: takes a number.
                let code = unsafe { self.calls.aclrtResetDevice(device) };
                ended = ended.and(self.check("aclrtResetDevice", code));
            }
        }
        if initialized {
            // SAFETY: the number of users is not asked for.
            let code = unsafe { self.calls.aclFinalizeReference(null_mut()) };
            ended = ended.and(self.check("aclFinalizeReference", code));
        }
        ended
    }
}
