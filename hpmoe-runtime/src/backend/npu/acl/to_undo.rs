//! The calls of CANN's library that a process undoes before it ends.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicUsize;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The calls that the process must undo, and what still needs them.
#[derive(Default)]
pub(super) struct ToUndo {
    calls: Mutex<Calls>,
    /// Number of devices, kernels and blocks of memory that exist.
    pub(super) in_use: AtomicUsize,
}

/// Calls that no later call has undone.
#[derive(Default)]
pub(super) struct Calls {
    /// Whether `aclInit` was called.
    pub(super) initialized: bool,
    /// Number of times that each device was set.
    pub(super) sets: BTreeMap<i32, u32>,
}

impl ToUndo {
    pub(super) fn lock(&self) -> MutexGuard<'_, Calls> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
