//! A handle that ends waits early.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// A handle that ends waits early: joining a group, an exchange, or a launch. It can be used from another thread or a
/// signal handler.
///
/// Clones share one state. Cancelling can't be undone.
///
/// ```
/// use hpmoe_runtime::Cancel;
///
/// let cancel = Cancel::new();
/// let other = cancel.clone();
/// std::thread::spawn(move || other.cancel()).join().unwrap();
/// assert!(cancel.is_cancelled());
/// ```
#[derive(Clone, Debug)]
pub struct Cancel(Flag);

/// The number that is 0 until the handle is cancelled.
#[derive(Clone, Debug)]
enum Flag {
    Own(Arc<AtomicU32>),
    Lent(&'static AtomicU32),
}

impl Default for Cancel {
    fn default() -> Self {
        Self(Flag::Own(Arc::default()))
    }
}

impl Cancel {
    /// Maximum time between two checks of the handle by a wait.
    pub(crate) const PAUSE: Duration = Duration::from_millis(50);

    /// Makes a handle that is not cancelled.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A handle backed by `number`, a variable of the program. The handle is cancelled when the number is not 0.
    #[must_use]
    pub const fn from_static(number: &'static AtomicU32) -> Self {
        Self(Flag::Lent(number))
    }

    /// Ends current and later waits that use this handle. The call only stores a number, so signal handlers can make it.
    pub fn cancel(&self) {
        self.number().store(1, Ordering::SeqCst);
    }

    /// Whether the handle has been cancelled.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.number().load(Ordering::SeqCst) != 0
    }

    fn number(&self) -> &AtomicU32 {
        match &self.0 {
            Flag::Own(number) => number,
            Flag::Lent(number) => number,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_of_the_program_cancels() {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let cancel = Cancel::from_static(&NUMBER);
        assert!(!cancel.is_cancelled());
        NUMBER.store(2, Ordering::SeqCst);
        assert!(cancel.is_cancelled() && !Cancel::new().is_cancelled());
    }
}
