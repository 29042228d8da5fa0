//! A handle that ends waits early.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// A handle that ends waits early, from another thread or a handler of signals: joining a group, an exchange, a launch.
///
/// Clones are one handle. What was cancelled stays so.
///
/// ```
/// use hpmoe_runtime::Cancel;
///
/// let cancel = Cancel::new();
/// let other = cancel.clone();
/// std::thread::spawn(move || other.cancel()).join().unwrap();
/// assert!(cancel.is_cancelled());
/// ```
#[derive(Clone, Default, Debug)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// The longest time between two looks of a wait at its handle.
    pub(crate) const PAUSE: Duration = Duration::from_millis(50);

    /// A handle that is not cancelled.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Ends the waits of this handle, now and later. It only stores a number, so that handlers of signals can call it.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    /// Whether it was cancelled.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}
