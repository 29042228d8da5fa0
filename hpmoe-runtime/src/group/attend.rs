//! Calls of the program's function by the launching thread while it waits.

use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::options::LaunchOptions;

/// Time between two calls of the program's function.
pub(super) const PAUSE: Duration = Duration::from_millis(50);

/// Time between two attempts to lock a state that another thread has locked.
const LOOK: Duration = Duration::from_micros(100);

impl LaunchOptions {
    /// Locks the state of a group. While another thread has it locked, this thread calls the program's function, if
    /// there is one.
    pub(super) fn lock<'a, T>(&self, state: &'a Mutex<T>) -> MutexGuard<'a, T> {
        if self.attend.is_none() {
            return state.lock().unwrap_or_else(PoisonError::into_inner);
        }
        let mut next = Instant::now() + PAUSE;
        loop {
            match state.try_lock() {
                Ok(state) => return state,
                Err(TryLockError::Poisoned(state)) => return state.into_inner(),
                Err(TryLockError::WouldBlock) => sleep(LOOK),
            }
            if Instant::now() >= next {
                self.attend();
                next = Instant::now() + PAUSE;
            }
        }
    }
}
