//! The settings of a group's launches.

use std::sync::Arc;
use std::time::Duration;

use hpmoe_kernels::Rank;

use super::Group;
use super::options::Attend;
use crate::backend::host::InjectedFault;
use crate::bootstrap::Cancel;

impl Group {
    /// Sets the seed of host runs, which draw at random the order of all events that a kernel leaves open. Results must not depend on the
    /// seed. Ranks that are processes must all have the same seed. Default: 0.
    #[must_use]
    pub const fn seed(mut self, seed: u64) -> Self {
        self.options.seed = seed;
        self
    }

    /// Sets the maximum time that a core may wait. A wait includes the time in which other cores compute the awaited data, which is long
    /// for large layers on a CPU. Default: 60 seconds.
    #[must_use]
    pub const fn time_limit(mut self, limit: Duration) -> Self {
        self.options.time_limit = limit;
        self
    }

    /// Reserves room for `rows` received rows on each rank; with chunks, `rows` received rows of each chunk. Ranks that are processes must
    /// all have the same capacity.
    ///
    /// Default: the most that any routing can need. This is ranks · `TOKENS` · min(`TOP_K`, experts of a rank), or less if routing is
    /// group-limited; a kernel with chunks has ⌈`TOKENS` / chunks⌉ in place of `TOKENS`. If launches choose the number of chunks, the
    /// default is 1.5 times the rows of an even load, but at least 4,096 rows and at most those of any routing.
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

    /// Sets the number of threads of each rank; all of them take part from the start of each launch. Default: the machine's threads are
    /// divided among the ranks, with at least one for each. A rank then starts on one thread, and its other threads join if the launch
    /// lasts longer than 300 µs.
    #[must_use]
    pub const fn threads(mut self, threads: u32) -> Self {
        self.options.threads = Some(threads);
        self
    }

    /// Sets whether host runs are checked. A checked run searches for unordered accesses of on-chip memory and for stale cache lines, and
    /// draws the order of all events that the kernel leaves open. Without checks, the same code computes the same bits in less time, but a
    /// mistake in it may show as wrong results or not at all; accesses beyond a buffer are still errors. Default: `HPMOE_CHECKS`, `on` or
    /// `off`; on if it is not set.
    #[must_use]
    pub const fn checks(mut self, on: bool) -> Self {
        self.options.checks = Some(on);
        self
    }

    /// Sets whether host runs search for unordered accesses of global memory, which are errors that name both calls. The search covers
    /// only ranks that are threads of this process. It makes a host run about a third longer, and needs memory for each pair of cores.
    /// Default: on in builds with debug assertions, for groups of at most 1,024 cores.
    #[must_use]
    pub const fn find_races(mut self, find: bool) -> Self {
        self.options.find_races = Some(find);
        self
    }

    /// Makes each launch run `times` times, one run directly after another; 0 counts as 1, the default. Nothing makes ranks wait for each
    /// other between the runs. Ranks that are processes must all have the same `times`.
    #[must_use]
    pub const fn repeat(mut self, times: u32) -> Self {
        self.options.repeat = times;
        self
    }

    /// Sets the number of tiles for which each core has room for time stamps, if the kernel records time stamps (built with
    /// `HPMOE_TIME_STAMPS=on`). A time stamp takes 32 bytes. Later tiles of a core have no time stamps, and the report says how many. Odd
    /// numbers are rounded up. Default: 4,096, which is 9 MiB on a rank with 72 cores; at most 16,777,216.
    #[must_use]
    pub const fn stamp_room(mut self, tiles: u32) -> Self {
        const MOST: u32 = 1 << 24;
        // Two stamps share a cache line, which only one core may write.
        let tiles = if tiles < MOST { tiles } else { MOST };
        self.options.stamp_room = tiles.next_multiple_of(2);
        self
    }

    /// Makes launches end within a second when `cancel` is cancelled. Running cores are then stopped, and the group can't be used after
    /// that. If ranks are processes, use [`Joining::cancelled_by`](crate::Joining::cancelled_by) instead, which also notifies the other
    /// ranks that this one is gone.
    ///
    /// # Panics
    ///
    /// If ranks are processes.
    #[must_use]
    pub fn cancelled_by(mut self, cancel: &Cancel) -> Self {
        assert!(
            self.joint.member.is_none(),
            "ranks that are processes have the handle that they joined with: Joining::cancelled_by"
        );
        self.options.cancel = Some(cancel.clone());
        self
    }

    /// Sets a function that the launching thread calls about 20 times a second while it waits for a launch on the host whose ranks are
    /// threads. Use it for work that must not be delayed, such as an interpreter's signal handlers. The function must not use the group,
    /// but can [cancel](Self::cancelled_by) the launch.
    #[must_use]
    pub fn attended_by(mut self, call: impl Fn() + Send + Sync + 'static) -> Self {
        self.options.attend = Some(Attend(Arc::new(call)));
        self
    }

    /// Injects a failure into launches on rank `rank`, to test how launches handle it.
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
