//! The options of a launch, and how a group sets them.

use std::collections::HashMap;
use std::thread::available_parallelism;
use std::time::Duration;

use hpmoe_kernels::Rank;

use super::Group;
use crate::LaunchError;
use crate::bootstrap::Cancel;

/// The options of a launch.
#[derive(Clone, Debug)]
pub(super) struct LaunchOptions {
    pub(super) seed: u64,
    pub(super) time_limit: Duration,
    pub(super) capacity: Option<usize>,
    pub(super) delays: HashMap<usize, Duration>,
    pub(super) threads: Option<u32>,
    pub(super) find_races: Option<bool>,
    pub(super) repeat: u32,
    pub(super) stamp_room: u32,
    pub(super) fault: Option<(Rank, InjectedFault)>,
    /// Ends launches early.
    pub(super) cancel: Option<Cancel>,
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
    /// Time: each core gives up one of its first waits, any of so many, although it is over.
    Wait(u32),
}

impl Default for LaunchOptions {
    fn default() -> Self {
        Self {
            seed: 0,
            time_limit: Duration::from_secs(60),
            capacity: None,
            delays: HashMap::new(),
            threads: None,
            find_races: None,
            repeat: 1,
            stamp_room: 4096,
            fault: None,
            cancel: None,
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

    /// An error of a launch, unless it came of being cancelled.
    pub(super) fn cancelled_or(&self, error: LaunchError) -> LaunchError {
        let is_cancelled = self.cancel.as_ref().is_some_and(Cancel::is_cancelled);
        if is_cancelled && error.may_be_cancelled() { LaunchError::Cancelled } else { error }
    }

    /// The fault that a test wants on this rank.
    pub(super) fn fault(&self, rank: Rank) -> Option<InjectedFault> {
        self.fault.filter(|(faulty, _)| *faulty == rank).map(|(_, fault)| fault)
    }

    /// Whether to search for races among this many cores.
    pub(super) fn finds_races(&self, cores: usize) -> bool {
        const MOST: usize = 1024;
        self.find_races.unwrap_or(cfg!(debug_assertions) && cores <= MOST)
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

impl Group {
    /// Sets the seed for the order of everything that a kernel leaves open. Results must not depend on it.
    #[must_use]
    pub const fn seed(mut self, seed: u64) -> Self {
        self.options.seed = seed;
        self
    }

    /// Sets the longest time that a core may wait. That includes the time in which other cores compute what it waits for,
    /// which is long for large layers on a CPU. Default: 60 seconds.
    #[must_use]
    pub const fn time_limit(mut self, limit: Duration) -> Self {
        self.options.time_limit = limit;
        self
    }

    /// Reserves room for `rows` received rows on each rank; with chunks, `rows` of each chunk.
    ///
    /// Default: as many as any routing can need, which is ranks · `TOKENS` · min(`TOP_K`, experts of a rank), with
    /// ⌈`TOKENS` / chunks⌉ in place of `TOKENS` for a kernel with chunks.
    #[must_use]
    pub fn capacity_rows(mut self, rows: usize) -> Self {
        self.options.capacity = Some(rows);
        self
    }

    /// Delays the start of each launch on `rank`, to test that nothing depends on ranks starting together.
    /// A launch refuses a delay for a rank that the group does not have.
    #[must_use]
    pub fn delay(mut self, rank: usize, delay: Duration) -> Self {
        self.options.delays.insert(rank, delay);
        self
    }

    /// Sets the number of threads of each rank. Default: the ranks share the machine's threads.
    #[must_use]
    pub const fn threads(mut self, threads: u32) -> Self {
        self.options.threads = Some(threads);
        self
    }

    /// Sets whether host runs search for accesses of global memory that nothing orders, an error that names both calls. Of ranks
    /// that are threads of this process: those of other processes can't be seen. A host run takes about a third longer with the
    /// search, which needs memory for each pair of cores. Default: in builds with debug assertions, for groups of at most 1,024 cores.
    #[must_use]
    pub const fn find_races(mut self, find: bool) -> Self {
        self.options.find_races = Some(find);
        self
    }

    /// Repeats each launch `times` times, with nothing in between that makes ranks wait for each other.
    #[must_use]
    pub const fn repeat(mut self, times: u32) -> Self {
        self.options.repeat = times;
        self
    }

    /// Makes room for the time stamps of that many tiles of each core, 32 bytes for each, where the kernel keeps some (`HPMOE_TIME_STAMPS=on` when it
    /// is built). Tiles beyond have none, which the report tells. Default: 4,096, which is 9 MiB on a rank with 72 cores; at
    /// most 16,777,216.
    #[must_use]
    pub const fn stamp_room(mut self, tiles: u32) -> Self {
        const MOST: u32 = 1 << 24;
        // Two to a line of a cache, of which only one core may write.
        let tiles = if tiles < MOST { tiles } else { MOST };
        self.options.stamp_room = tiles.next_multiple_of(2);
        self
    }

    /// Ends launches early when this handle is cancelled, within a second: cores that run are stopped, and the group can no longer be used. If
    /// ranks are processes, the handle is that of [`Joining::cancelled_by`](crate::Joining::cancelled_by), and the other ranks hear that this one
    /// is gone.
    ///
    /// # Panics
    ///
    /// If ranks are processes.
    #[must_use]
    pub fn cancelled_by(mut self, cancel: &Cancel) -> Self {
        assert!(
            self.member.is_none(),
            "ranks that are processes have the handle that they joined with: Joining::cancelled_by"
        );
        self.options.cancel = Some(cancel.clone());
        self
    }

    /// Lets a resource be missing on a rank, for tests of what happens then.
    #[doc(hidden)]
    #[must_use]
    pub const fn fault(mut self, rank: Rank, fault: InjectedFault) -> Self {
        self.options.fault = Some((rank, fault));
        self
    }
}

#[cfg(test)]
mod tests {
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
