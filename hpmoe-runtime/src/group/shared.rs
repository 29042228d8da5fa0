//! The state that the ranks of a row of launches share.

use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

use hpmoe_kernels::Rank;

use super::options::LaunchOptions;
use crate::CompiledKernel;
use crate::backend::host::{Races, Writer};
use crate::layout::RankSizes;

/// The state that the threads of all ranks of this process share during a row of launches.
pub(super) struct LaunchShared<'a> {
    pub(super) kernel: &'a CompiledKernel,
    pub(super) options: &'a LaunchOptions,
    /// Sizes of the memory that the launches use.
    pub(super) sizes: RankSizes,
    /// Number of steps of the row.
    pub(super) steps: usize,
    /// Number of the first launch of the row.
    pub(super) first: i32,
    /// Set when a rank fails: ends all running launches.
    pub(super) stop: &'a AtomicI32,
    /// Whether host runs are checked.
    pub(super) checks: bool,
    /// The rank that runs on the launching thread.
    pub(super) caller: Rank,
    /// The search for races among ranks that are threads of this process; `None` if it is off.
    pub(super) races: Option<Races>,
    /// Writer for remote heaps; `None` if they are mapped into this process.
    pub(super) writer: Option<&'a dyn Writer>,
    /// Set when a launch fails on any rank: no rank then starts another launch.
    pub(super) failed: AtomicBool,
}

impl LaunchShared<'_> {
    /// Number of launches of each rank: the number of steps times the number of repetitions.
    pub(super) fn launches(&self) -> u32 {
        self.options.repeat.max(1) * u32::try_from(self.steps).expect("a row has fewer than 2^32 launches")
    }

    /// Number of the step that launch `number` runs.
    pub(super) fn step(&self, number: i32) -> usize {
        (number - self.first).unsigned_abs() as usize % self.steps
    }

    /// Calls the program's function, if `rank` runs on the launching thread. Returns whether the launches are
    /// cancelled.
    pub(super) fn attend(&self, rank: Rank) -> bool {
        if rank == self.caller {
            self.options.attend();
        }
        self.options.is_cancelled()
    }

    /// Ends all running launches, and lets no other one start.
    pub(super) fn end_all(&self) {
        self.failed.store(true, Ordering::Release);
        self.stop.store(1, Ordering::SeqCst);
    }
}
