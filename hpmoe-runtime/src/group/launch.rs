//! Launches in a row: a thread for each rank, which ends when its last launch has ended.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::thread::{self, Scope, ScopedJoinHandle};
use std::time::Instant;

use super::outcome::{memory, report};
use super::prepare::prepare;
use super::rank::{RankEnd, RankLaunch};
use super::regions::regions;
use super::session::Session;
use super::{InjectedFault, LaunchOptions};
use crate::backend::host::MemoryRegion;
use crate::error::Resource;
use crate::layout::RouteChunks;
use crate::tables::ScheduleTable;
use crate::{Argument, CompiledKernel, LaunchError, Report};

/// The route and the tensors of one launch.
pub(super) struct LaunchStep<'a> {
    pub(super) chunks: RouteChunks<'a>,
    pub(super) arguments: &'a [Argument<'a>],
}

/// What the threads of all ranks share.
pub(super) struct LaunchShared<'a> {
    pub(super) kernel: &'a CompiledKernel,
    pub(super) options: &'a LaunchOptions,
    /// Number of ranks of the group.
    pub(super) ranks: usize,
    /// Number of steps of the row.
    pub(super) steps: usize,
    /// Number of the first launch.
    pub(super) first: i32,
    /// Set when a rank can't go on: ends all running launches.
    pub(super) stop: AtomicI32,
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

    /// Ends all running launches, and starts no other.
    fn end_all(&self) {
        self.failed.store(true, Ordering::Release);
        self.stop.store(1, Ordering::SeqCst);
    }
}

/// Runs a row of at least one step on all ranks. Arguments and capacity have been checked.
pub(super) fn launch(
    kernel: &CompiledKernel,
    schedule: &ScheduleTable,
    row: &[LaunchStep<'_>],
    options: &LaunchOptions,
    session: &mut Session,
) -> Result<Report, LaunchError> {
    let shared = LaunchShared {
        kernel,
        options,
        ranks: session.ranks.len(),
        steps: row.len(),
        first: session.launches + 1,
        stop: AtomicI32::new(0),
        failed: AtomicBool::new(false),
    };
    let mut ranks = prepare(&shared, row, schedule, session);
    let regions: Vec<Vec<MemoryRegion>> = (0..row.len())
        .map(|step| ranks.iter_mut().flat_map(|rank| regions(kernel.tables(), row, session, rank, step)).collect())
        .collect();
    let start = Instant::now();
    let ends = run(&shared, &mut ranks, &regions)?;
    let wall = start.elapsed();
    session.launches += shared.launches().cast_signed();
    report(&shared, memory(kernel.tables(), row, session), wall, ends)
}

/// Runs each rank on a thread of its own and waits for all of them. When a thread can't be started, the ranks that run
/// already would wait for its rank: they are stopped.
fn run(
    shared: &LaunchShared<'_>,
    ranks: &mut [RankLaunch],
    regions: &[Vec<MemoryRegion>],
) -> Result<Vec<RankEnd>, LaunchError> {
    thread::scope(|scope| {
        let mut threads = Vec::with_capacity(ranks.len());
        let mut refused = None;
        for (rank, launch) in ranks.iter_mut().enumerate() {
            match start(scope, shared, launch, regions) {
                Ok(thread) => threads.push(thread),
                Err(error) => {
                    shared.end_all();
                    refused = Some(LaunchError::lacking(rank, Resource::RankThread, error.to_string()));
                    break;
                }
            }
        }
        let ends = threads.into_iter().map(|thread| thread.join().expect("a rank's thread does not panic")).collect();
        refused.map_or(Ok(ends), Err)
    })
}

fn start<'scope>(
    scope: &'scope Scope<'scope, '_>,
    shared: &'scope LaunchShared<'_>,
    launch: &'scope mut RankLaunch,
    regions: &'scope [Vec<MemoryRegion>],
) -> io::Result<ScopedJoinHandle<'scope, RankEnd>> {
    let rank = launch.rank;
    if shared.options.fault(rank) == Some(InjectedFault::RankThread) {
        return Err(io::ErrorKind::WouldBlock.into());
    }
    thread::Builder::new().name(rank.to_string()).spawn_scoped(scope, move || launch.run(shared, regions))
}
