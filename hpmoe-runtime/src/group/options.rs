//! The options of a launch.

use std::collections::BTreeMap;
use std::thread::available_parallelism;
use std::time::Duration;

use hpmoe_kernels::Rank;

use crate::LaunchError;

/// The options of a launch.
#[derive(Clone, Debug)]
pub(super) struct LaunchOptions {
    pub(super) seed: u64,
    pub(super) time_limit: Duration,
    pub(super) capacity: Option<usize>,
    pub(super) delays: BTreeMap<usize, Duration>,
    pub(super) threads: Option<u32>,
    pub(super) repeat: u32,
    pub(super) fault: Option<(Rank, InjectedFault)>,
}

/// A resource that a test lets be missing, at the call that asks for it.
#[doc(hidden)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InjectedFault {
    /// The thread of the rank.
    RankThread,
    /// The worker thread with that number; 0 is the rank's own thread.
    WorkerThread(u32),
    /// Memory for the model of the core with that number, matrix cores first.
    Core(u32),
    /// The stack of that core.
    Stack(u32),
    /// Memory that one of that core's calls asks for.
    Call(u32),
}

impl Default for LaunchOptions {
    fn default() -> Self {
        Self {
            seed: 0,
            time_limit: Duration::from_secs(60),
            capacity: None,
            delays: BTreeMap::new(),
            threads: None,
            repeat: 1,
            fault: None,
        }
    }
}

impl LaunchOptions {
    /// Refuses a delay for a rank that the group does not have.
    pub(super) fn check_delays(&self, ranks: usize) -> Result<(), LaunchError> {
        match self.delays.keys().find(|&&rank| rank >= ranks) {
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

    /// The fault that a test wants on this rank.
    pub(super) fn fault(&self, rank: Rank) -> Option<InjectedFault> {
        self.fault.filter(|(faulty, _)| *faulty == rank).map(|(_, fault)| fault)
    }

    /// The time limit in cycles of the device's system counter, of 20 ns each.
    pub(super) fn time_limit_cycles(&self) -> u64 {
        u64::try_from(self.time_limit.as_nanos() / 20).unwrap_or(u64::MAX)
    }

    /// How long a process waits for the others where all of them should come at about the same time, after `launches`
    /// launches.
    pub(super) fn patience(&self, launches: u32) -> Duration {
        let delay = self.delays.values().max().copied().unwrap_or_default();
        self.time_limit.saturating_add(delay.saturating_mul(launches))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Group;
    use super::*;

    #[test]
    fn a_delay_for_a_rank_that_does_not_exist_is_refused() {
        let group = Group::new(4).delay(3, Duration::ZERO);
        assert!(group.options.check_delays(4).is_ok());
        let refused = group.delay(4, Duration::ZERO).options.check_delays(4).unwrap_err();
        let said = "there is a delay for rank 4, but the group has 4 ranks: delay one from 0 to 3";
        assert_eq!(refused.to_string(), said);
    }
}
