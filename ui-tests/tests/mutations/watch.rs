//! Ends processes that compute for ever.
//!
//! A waiting kernel gives up by itself. Any other is stopped when it has used much more processor time than the
//! unchanged kernel, however busy the machine is.

use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Factor by which a row may take more processor time than in the unchanged kernel.
const FACTOR: u64 = 20;
/// Additional processor time, which waiting ranks use for polling.
const MORE: u64 = 10_000;

/// Prints a line and ends the process if a row has computed for too long.
pub struct Watch(Arc<AtomicBool>);

impl Watch {
    /// Starts a row that takes this many milliseconds in the unchanged kernel.
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

    /// Processor time that this process has used.
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

/// Threads are still computing, so destructors must not run.
#[expect(unsafe_code, reason = "a call of the system")]
fn end_process() -> ! {
    // SAFETY: the call has no conditions.
    unsafe { libc::_exit(0) }
}
