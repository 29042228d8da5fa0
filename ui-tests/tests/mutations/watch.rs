//! An end for what computes for ever.
//!
//! A kernel that waits gives up by itself. One that doesn't is stopped when it has used far more time of processors than the kernel as
//! it is: how much else the machine has to do makes no difference.

use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How much longer than as it is a row may compute.
const FACTOR: u64 = 20;
/// In addition: what waiting ranks use while they look.
const MORE: u64 = 10_000;

/// Prints a line and ends the process if it still exists when a row has computed for too long.
pub struct Watch(Arc<AtomicBool>);

impl Watch {
    /// Begins with a row that takes so many milliseconds when the kernel is as it should be.
    pub fn start(milliseconds: u64, line: String) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let end = Self::milliseconds() + FACTOR * milliseconds + MORE;
        let shared = over.clone();
        std::thread::spawn(move || {
            while !shared.load(Ordering::Relaxed) {
                if Self::milliseconds() > end {
                    let mut out = std::io::stdout().lock();
                    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
                    end_process();
                }
                std::thread::sleep(Duration::from_millis(50));
            }
        });
        Self(over)
    }

    /// Time of processors that this process has used.
    #[expect(unsafe_code, reason = "a call of the system")]
    pub fn milliseconds() -> u64 {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the call writes to a place of its type.
        let status = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
        assert_eq!(status, 0, "every process has such a clock");
        time.tv_sec as u64 * 1000 + time.tv_nsec as u64 / 1_000_000
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Threads still compute, so nothing may be cleared up.
#[expect(unsafe_code, reason = "a call of the system")]
fn end_process() -> ! {
    // SAFETY: the call has no conditions.
    unsafe { libc::_exit(0) }
}
