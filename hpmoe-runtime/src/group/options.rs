//! The options of a launch.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::thread::available_parallelism;
use std::time::Duration;

use hpmoe_kernels::Rank;

use crate::LaunchError;
use crate::backend::host::InjectedFault;
use crate::bootstrap::Cancel;

/// The options of a launch.
#[derive(Clone, Debug)]
pub(super) struct LaunchOptions {
    pub(super) seed: u64,
    pub(super) time_limit: Duration,
    pub(super) capacity: Option<usize>,
    pub(super) delays: HashMap<usize, Duration>,
    pub(super) threads: Option<u32>,
    pub(super) checks: Option<bool>,
    pub(super) find_races: Option<bool>,
    pub(super) repeat: u32,
    pub(super) stamp_room: u32,
    pub(super) fault: Option<(Rank, InjectedFault)>,
    /// The handle that ends launches early.
    pub(super) cancel: Option<Cancel>,
    /// The program's function, which the launching thread calls while it waits.
    pub(super) attend: Option<Attend>,
}

/// A function of the program that a thread calls from time to time while it waits.
#[derive(Clone)]
pub(super) struct Attend(pub(super) Arc<dyn Fn() + Send + Sync>);

impl fmt::Debug for Attend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Attend(..)")
    }
}

impl Default for LaunchOptions {
    fn default() -> Self {
        Self {
            seed: 0,
            time_limit: Duration::from_secs(60),
            capacity: None,
            delays: HashMap::new(),
            threads: None,
            checks: None,
            find_races: None,
            repeat: 1,
            stamp_room: 4096,
            fault: None,
            cancel: None,
            attend: None,
        }
    }
}

impl LaunchOptions {
    /// Refuses a delay for a rank that the group does not have.
    pub(super) fn check_delays(&self, ranks: usize) -> Result<(), LaunchError> {
        match self.delays.keys().filter(|&&rank| rank >= ranks).min() {
            Some(&rank) => Err(LaunchError::DelayedRank { rank, ranks }),
            None => Ok(()),
        }
    }

    pub(super) fn threads(&self, ranks: usize) -> u32 {
        self.threads.unwrap_or_else(|| {
            let machine = available_parallelism().map_or(1, usize::from);
            u32::try_from(machine / ranks).unwrap_or(1).max(1)
        })
    }

    /// Time for which the thread that runs a rank runs its cores alone, so that small launches need no other thread.
    pub(super) const fn alone(&self) -> Duration {
        const SMALL: Duration = Duration::from_micros(300);
        if self.threads.is_some() { Duration::ZERO } else { SMALL }
    }

    /// Calls the program's function, if there is one.
    pub(super) fn attend(&self) {
        if let Some(Attend(attend)) = &self.attend {
            attend();
        }
    }

    pub(super) fn is_cancelled(&self) -> bool {
        self.cancel.as_ref().is_some_and(Cancel::is_cancelled)
    }

    /// `LaunchError::Cancelled` if the launch was cancelled and `error` can result from that; otherwise `error`.
    pub(super) fn cancelled_or(&self, error: LaunchError) -> LaunchError {
        if self.is_cancelled() && error.may_be_cancelled() { LaunchError::Cancelled } else { error }
    }

    /// The failure that a test makes happen on this rank.
    pub(super) fn fault(&self, rank: Rank) -> Option<InjectedFault> {
        self.fault.filter(|(faulty, _)| *faulty == rank).map(|(_, fault)| fault)
    }

    /// Whether a checked run searches for races among this many cores.
    pub(super) fn finds_races(&self, cores: usize) -> bool {
        const MOST: usize = 1024;
        self.find_races.unwrap_or(cfg!(debug_assertions) && cores <= MOST)
    }

    /// The time limit of a wait, in cycles of the device's system counter (20 ns each).
    pub(super) fn time_limit_cycles(&self) -> u64 {
        u64::try_from(self.time_limit.as_nanos() / 20).unwrap_or(u64::MAX)
    }

    /// Time for which a process waits for other processes that should have done `launches` launches at about the same time.
    pub(super) fn patience(&self, launches: u32) -> Duration {
        let delay = self.delays.values().max().copied().unwrap_or_default();
        self.time_limit.saturating_add(delay.saturating_mul(launches))
    }
}
