//! The process that started this rank. This process ends when that one ends.

use std::sync::Once;
use std::thread;
use std::time::Duration;

use super::BootstrapError;

/// The variable with the number of the process that started this rank, set by [`Joining::pass_to`](super::Joining::pass_to).
pub(super) const STARTED_BY: &str = "HPMOE_STARTED_BY";

/// Time between two checks of the parent process.
const PAUSE: Duration = Duration::from_millis(100);

/// Number of the process that started this one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Starter(u32);

impl Starter {
    pub(super) fn of_this_process() -> Self {
        Self(std::process::id())
    }

    pub(super) fn read(text: &str) -> Result<Self, BootstrapError> {
        text.parse().map(Self).map_err(|_| BootstrapError::Variable {
            variable: STARTED_BY.to_owned(),
            value: text.to_owned(),
            wanted: "the number of a process",
        })
    }

    pub(super) fn number(self) -> String {
        self.0.to_string()
    }

    /// Ends this process when the process that started it has ended for any reason. A signal to that process alone would not reach this
    /// one. If this process was started through another program that still runs, it ends only when it finds that rank 0 is gone.
    #[cfg(unix)]
    pub(super) fn end_with(self, rank: usize) -> Result<(), BootstrapError> {
        static WATCH: Once = Once::new();
        let mut watched = Ok(());
        let Self(starter) = self;
        if std::os::unix::process::parent_id() == starter {
            WATCH.call_once(|| {
                let watch = thread::Builder::new().name("starter".to_owned()).spawn(move || {
                    while std::os::unix::process::parent_id() == starter {
                        thread::sleep(PAUSE);
                    }
                    eprintln!("rank {rank} ends, because process {starter}, which started it, has ended");
                    std::process::exit(1);
                });
                watched = watch.map(drop).map_err(|error| BootstrapError::no_thread(rank, &error));
            });
        }
        watched
    }

    #[cfg(not(unix))]
    pub(super) fn end_with(self, _rank: usize) -> Result<(), BootstrapError> {
        Ok(())
    }
}
