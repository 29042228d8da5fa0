//! The placement in force on a thread, for routes that taskflows make themselves.

use std::cell::RefCell;

use super::Placement;

thread_local! {
    static IN_FORCE: RefCell<Option<Placement>> = const { RefCell::new(None) };
}

/// Restores the previous placement when it is dropped, also if a panic ends the scope.
struct Before(Option<Placement>);

impl Drop for Before {
    fn drop(&mut self) {
        let before = self.0.take();
        IN_FORCE.with(|placement| *placement.borrow_mut() = before);
    }
}

/// Runs `f` while `placement` is in force on this thread.
pub(super) fn with<R>(placement: &Placement, f: impl FnOnce() -> R) -> R {
    let _before = Before(IN_FORCE.with(|in_force| in_force.borrow_mut().replace(placement.clone())));
    f()
}

/// The placement in force on this thread, if there is one.
pub(crate) fn in_force() -> Option<Placement> {
    IN_FORCE.with(|placement| placement.borrow().clone())
}
