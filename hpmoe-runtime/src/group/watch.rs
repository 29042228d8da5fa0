//! Watches the other processes and the handle that cancels, while a kernel runs.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::park_timeout;
use std::time::Duration;

use super::member::Member;
use crate::bootstrap::Cancel;

/// Time between two checks.
const PAUSE: Duration = Duration::from_millis(20);

/// The events outside a launch that can end it.
#[derive(Clone, Copy)]
pub(super) struct Watch<'a> {
    pub(super) member: Option<&'a Member>,
    pub(super) cancel: Option<&'a Cancel>,
}

impl Watch<'_> {
    /// Whether there is nothing to watch.
    pub(super) const fn is_idle(self) -> bool {
        self.member.is_none() && self.cancel.is_none()
    }

    /// Calls `stop` when a rank is gone or the launch is cancelled, so that no core waits until the time limit. Repeats the call until it
    /// returns true. Returns when that is done or `over` is set; unpark the thread when `over` is set.
    pub(super) fn run(self, over: &AtomicBool, mut stop: impl FnMut() -> bool) {
        while !over.load(Ordering::Acquire) {
            let is_gone = self.member.is_some_and(|member| member.gone().is_some());
            if (is_gone || self.cancel.is_some_and(Cancel::is_cancelled)) && stop() {
                return;
            }
            park_timeout(PAUSE);
        }
    }
}
