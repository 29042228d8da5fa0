//! The watch over the other processes while a kernel runs.

use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::thread::park_timeout;
use std::time::Duration;

use super::member::Member;

/// The time between two looks.
pub(super) const PAUSE: Duration = Duration::from_millis(20);

/// Ends the running launch when a rank is gone, so that no core waits for it until the time limit. Returns when `over` is set,
/// and is woken up for that.
pub(super) fn watch(member: &Member, over: &AtomicBool, stop: &AtomicI32) {
    while !over.load(Ordering::Acquire) {
        if member.gone().is_some() {
            stop.store(1, Ordering::SeqCst);
            return;
        }
        park_timeout(PAUSE);
    }
}
