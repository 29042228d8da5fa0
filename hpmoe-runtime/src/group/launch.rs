//! Launches in a row: tables and regions of each rank and launch, a thread per rank, then one result.

use std::sync::atomic::{AtomicBool, AtomicI32};
use std::thread;
use std::time::{Duration, Instant};

use bytemuck::Zeroable as _;
use hpmoe_kernels::Rank;

use super::Options;
use super::rank::{RankEnd, RankLaunch};
use super::regions::regions;
use super::session::Session;
use crate::abi::{HPMOE_DONE, HpmoeRecord};
use crate::backend::host::{HostStatistics, Outcome, Region};
use crate::layout::plan::row_bytes;
use crate::layout::tables::{Addresses, Common, Place, RankTables, record_bytes};
use crate::layout::{Chunks, Plan, rows_of};
use crate::memory::Arena;
use crate::report::{self, Site, StuckReport};
use crate::tables::{RowKind, ScheduleTable, Storage, TensorTable};
use crate::{Argument, KernelTables, LaunchError, Report};

/// Route and tensors of one launch.
pub(super) struct Step<'a> {
    pub(super) chunks: Chunks<'a>,
    pub(super) arguments: &'a [Argument<'a>],
}

/// What all ranks of a launch share.
pub(super) struct Shared<'a> {
    pub(super) tables: &'a KernelTables,
    /// What is launched one after another.
    pub(super) row: &'a [Step<'a>],
    pub(super) options: &'a Options,
    /// Number of the first launch.
    pub(super) first: i32,
    /// Set when a core breaks a rule: ends all running launches.
    pub(super) stop: AtomicI32,
    /// Set when a rank's launch does not end well: no rank starts another one.
    pub(super) failed: AtomicBool,
}

impl<'a> Shared<'a> {
    /// Launches on each rank: the row as often as it is to be repeated.
    pub(super) fn launches(&self) -> u32 {
        self.options.repeat.max(1) * u32::try_from(self.row.len()).expect("a row is short")
    }

    /// Ranks of the group.
    pub(super) fn ranks(&self) -> usize {
        self.row.first().map_or(0, |step| step.chunks.whole().ranks().count())
    }

    /// Which step of the row the launch with that number is.
    pub(super) fn step(&self, number: i32) -> usize {
        (number - self.first).unsigned_abs() as usize % self.row.len()
    }
}

/// Launches on all ranks, at least once. Arguments and capacity have been checked.
pub(super) fn launch(
    tables: &KernelTables,
    schedule: &ScheduleTable,
    row: &[Step<'_>],
    options: &Options,
    session: &mut Session,
) -> Result<Report, LaunchError> {
    let shared = Shared {
        tables,
        row,
        options,
        first: session.launches + 1,
        stop: AtomicI32::new(0),
        failed: AtomicBool::new(false),
    };
    let mut ranks = prepare(&shared, schedule, session);
    let regions: Vec<Vec<Region>> = (0..row.len())
        .map(|step| ranks.iter_mut().flat_map(|rank| regions(&shared, session, rank, step)).collect())
        .collect();
    let start = Instant::now();
    let ends: Vec<RankEnd> = thread::scope(|scope| {
        let run = |launch: &'_ mut RankLaunch| launch.run(&shared, &regions);
        let threads: Vec<_> = ranks.iter_mut().map(|launch| scope.spawn(move || run(launch))).collect();
        threads.into_iter().map(|thread| thread.join().expect("a rank's thread does not panic")).collect()
    });
    let wall = start.elapsed();
    session.launches += shared.launches().cast_signed();
    let memory = memory(&shared, session);
    finish(&shared, memory, wall, ends)
}

/// Makes the tables of each rank.
fn prepare(shared: &Shared<'_>, schedule: &ScheduleTable, session: &mut Session) -> Vec<RankLaunch> {
    let Shared { tables, row, options, .. } = *shared;
    let plan = &session.plan;
    let common = Common::new(tables, schedule, plan, options.time_limit_cycles());
    let peers: Vec<u64> = session.ranks.iter_mut().map(|memory| memory.heap.address()).collect();
    let step = |rank: Rank, workspace: u64, records: u64, Step { chunks, arguments }: &Step<'_>| {
        let address = |(tensor, at): (&TensorTable, &usize)| match tensor.memory {
            Storage::Argument(number) => Place::At(arguments[number].parts[rank.id()].address),
            Storage::Shared(number) => Place::OnEach(arguments[number].parts.iter().map(|part| part.address).collect()),
            Storage::Workspace => Place::At(workspace + *at as u64),
            Storage::Symmetric => Place::At(*at as u64),
        };
        let tensors: Vec<Place> = tables.tensors.iter().zip(&plan.tensors).map(address).collect();
        let addresses = Addresses { peers: &peers, tensors: &tensors, records };
        RankTables::new(&common, chunks, rank, &addresses)
    };
    let one = |(rank, workspace): (usize, u64)| {
        let rank = Rank::new(rank);
        let mut records = Arena::zeroed(record_bytes(tables));
        let steps = row.iter().map(|one| step(rank, workspace, records.address(), one)).collect();
        RankLaunch { rank, steps, records }
    };
    let workspaces = session.ranks.iter_mut().map(|memory| memory.workspace.address());
    workspaces.enumerate().map(one).collect()
}

fn memory(shared: &Shared<'_>, session: &Session) -> report::MemoryUse {
    let Some(step) = shared.row.last() else { return report::MemoryUse::default() };
    let route = step.chunks.whole();
    let of = |tensor: &TensorTable| {
        let bytes = |rank| rows_of(tensor.extent, route, rank) * row_bytes(tensor);
        route.ranks().into_iter().map(bytes).max().unwrap_or(0)
    };
    let is_kept = |tensor: &&TensorTable| {
        let argument = matches!(tensor.memory, Storage::Argument(_) | Storage::Shared(_));
        argument && matches!(tensor.extent, RowKind::Received | RowKind::Once)
    };
    let kept = shared.tables.tensors.iter().filter(is_kept).map(|tensor| (tensor.name, of(tensor)));
    let Plan { counters, counters_at, workspace, .. } = &session.plan;
    report::MemoryUse { counters: counters.count, workspace: workspace + counters_at, kept: kept.collect() }
}

/// The report, or the first thing that went wrong: a broken rule before a core that waited in vain.
fn finish(
    shared: &Shared<'_>,
    memory: report::MemoryUse,
    wall: Duration,
    ends: Vec<RankEnd>,
) -> Result<Report, LaunchError> {
    let Shared { tables, options, .. } = *shared;
    for (rank, end) in ends.iter().enumerate() {
        if let Outcome::BrokenRule { message, core } = &end.outcome {
            let site = Site::new(tables, ends.len(), rank);
            let source_line = end.records.get(*core).and_then(|record| site.call(record));
            return Err(LaunchError::Rule { message: message.clone(), source_line });
        }
    }
    let last = ends.iter().map(|end| end.number).max();
    let mut host = HostStatistics::default();
    ends.iter().for_each(|end| host.add(&end.host));
    // A rank that finished an earlier launch did not start the one that another rank was in.
    let of = |end: RankEnd| match Some(end.number) == last || !is_done(&end.records) {
        true => end.records,
        false => vec![HpmoeRecord::zeroed(); end.records.len()],
    };
    let records: Vec<Vec<HpmoeRecord>> = ends.into_iter().map(of).collect();
    if !records.iter().all(|records| is_done(records)) {
        return Err(LaunchError::Stuck(StuckReport::new(tables, options.time_limit, &records)));
    }
    Ok(Report::new(tables, &records, shared.launches(), memory, wall, host))
}

/// Whether all cores of a rank finished their queues.
pub(super) fn is_done(records: &[HpmoeRecord]) -> bool {
    records.iter().all(|record| record.state == HPMOE_DONE)
}
