//! The state that the ranks of a row of launches share.

use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

use hpmoe_kernels::Rank;

use super::options::LaunchOptions;
use crate::CompiledKernel;
use crate::backend::host::{Races, Writer};
use crate::layout::RankSizes;

/// The state that the threads of all ranks share.
pub(super) struct LaunchShared<'a> {
    pub(super) kernel: &'a CompiledKernel,
    pub(super) options: &'a LaunchOptions,
    /// Sizes of the memory that the launches have.
    pub(super) sizes: RankSizes,
    /// Number of steps of the row.
    pub(super) steps: usize,
    /// Number of the first launch.
    pub(super) first: i32,
    /// Set when a rank fails: ends all running launches.
    pub(super) stop: &'a AtomicI32,
    /// Whether host runs are checked.
    pub(super) checks: bool,
    /// The rank that runs on the thread of the program.
    pub(super) caller: Rank,
    /// The search for races, if it is asked for, among ranks that are threads of this process.
    pub(super) races: Option<Races>,
    /// Writer for remote heaps; `None` if they are mapped into this process.
    pub(super) writer: Option<&'a dyn Writer>,
    /// Set when a launch of a rank does not end well: no rank starts another one.
    pub(super) failed: AtomicBool,
}

impl LaunchShared<'_> {
    /// Number of launches of each rank: the steps of the row, as often as they are to be repeated.
    pub(super) fn launches(&self) -> u32 {
        self.options.repeat.max(1) * u32::try_from(self.steps).expect("a row is short")
    }

    /// The step that the launch with that number runs.
    pub(super) fn step(&self, number: i32) -> usize {
        (number - self.first).unsigned_abs() as usize % self.steps
    }

    /// The work of a rank's thread while it waits. Returns whether launches are cancelled.
    pub(super) fn attend(&self, rank: Rank) -> bool {
        if rank == self.caller {
            self.options.attend();
        }
        self.options.is_cancelled()
    }

    /// Ends all running launches, and starts no other.
    pub(super) fn end_all(&self) {
        self.failed.store(true, Ordering::Release);
        self.stop.store(1, Ordering::SeqCst);
    }
}
