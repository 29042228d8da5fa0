//! Launches on the host: the launching thread runs one rank of this process, and each other rank has its own thread.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::thread::{self, Scope, ScopedJoinHandle, Thread};
use std::time::Instant;

use bytemuck::Zeroable as _;
use hpmoe_kernels::Rank;

use super::LaunchOptions;
use super::attend::PAUSE;
use super::ends::exchange;
use super::member::Member;
use super::outcome::{memory, report};
use super::rank::RankLaunch;
use super::rank_end::RankEnd;
use super::regions::{peer_regions, regions};
use super::row::LaunchStep;
use super::session::Session;
use super::shared::LaunchShared;
use super::shared_arguments::shared_arguments;
use super::watch::Watch;
use crate::abi::HpmoeRecord;
use crate::backend::host::{
    HostStatistics, InjectedFault, MemoryRegion, Outcome, Races, Resource, SharedMapping, Writer,
};
use crate::layout::Word;
use crate::layout::stamps::RankStamps;
use crate::{Argument, CompiledKernel, KernelTables, LaunchError, Report};

/// Runs a row of at least one step on all ranks of this process. `ranks` has their tables. Arguments and capacity have been checked. If
/// ranks are processes, all of them call this and get the same result, unless one is gone.
pub(super) fn launch(
    kernel: &CompiledKernel,
    row: &[LaunchStep<'_>],
    options: &LaunchOptions,
    session: &mut Session,
    member: Option<&Member>,
    ranks: &mut [RankLaunch],
) -> Result<Report, LaunchError> {
    let remote = session.remote.clone();
    let first_heap = if remote.is_some() { None } else { session.shared_heap(0) };
    let here = AtomicI32::new(0);
    let stop = first_heap.as_ref().map_or(&here, |heap| heap.word(session.plan.at(Word::Stop)));
    let checks = options.checks()?;
    let shared = LaunchShared {
        kernel,
        options,
        checks,
        caller: ranks[0].rank,
        sizes: session.sizes,
        steps: row.len(),
        first: session.launches + 1,
        stop,
        races: if member.is_none() && checks { races(kernel.tables(), session.ranks.len(), options)? } else { None },
        writer: remote.as_deref().map(|remote| remote as &dyn Writer),
        failed: AtomicBool::new(false),
    };
    let regions: Vec<Vec<MemoryRegion>> = (0..row.len())
        .map(|step| {
            let mut all: Vec<MemoryRegion> =
                ranks.iter_mut().flat_map(|rank| regions(kernel.tables(), row, session, rank, step)).collect();
            all.extend(peer_regions(kernel.tables(), &row[step], session));
            all
        })
        .collect();
    if let Some(member) = member {
        copy_in(kernel.tables(), row, session);
        member.exchange("the start of a launch", &[], options.patience(1))?;
    }
    let start = Instant::now();
    let ends = run(&shared, ranks, &regions, member);
    let wall = start.elapsed();
    if let Some(remote) = remote.as_ref().filter(|_| shared.failed.load(Ordering::Acquire)) {
        // No word that stops all of them is in reach.
        remote.abort(session.plan.at(Word::Abort));
    }
    let ends = match member {
        None => ends?,
        Some(member) => exchange(&shared, member, own_end(&shared, ends)?)?,
    };
    copy_out(kernel.tables(), row, session);
    session.launches = ends.iter().map(|end| end.number).max().unwrap_or(session.launches);
    report(&shared, memory(kernel.tables(), row, session), (start, wall), ends)
}

/// The search for races among ranks that are threads; `None` if it is off.
fn races(tables: &KernelTables, ranks: usize, options: &LaunchOptions) -> Result<Option<Races>, LaunchError> {
    let cores = tables.aic + tables.aiv;
    if !options.finds_races(ranks * cores as usize) {
        return Ok(None);
    }
    let races = Races::new(u32::try_from(ranks).expect("ranks are numbered by u32"), cores);
    let lacking = || LaunchError::lacking(0, Resource::Memory, "there is no room to search for races".to_owned());
    races.map(Some).ok_or_else(lacking)
}

/// The end of the only rank of this process. If the rank could not start for lack of a resource, the end says so.
fn own_end(shared: &LaunchShared<'_>, ends: Result<Vec<RankEnd>, LaunchError>) -> Result<RankEnd, LaunchError> {
    match ends {
        Ok(mut ends) => Ok(ends.pop().expect("if ranks are processes, each process runs one rank")),
        Err(LaunchError::Resource { resource, cause, .. }) => {
            let cores = (shared.kernel.tables().aic + shared.kernel.tables().aiv) as usize;
            Ok(RankEnd {
                outcome: Outcome::Lacking { resource, cause },
                records: vec![HpmoeRecord::zeroed(); cores],
                number: shared.first,
                host: HostStatistics::default(),
                stamps: RankStamps::default(),
            })
        }
        Err(error) => Err(error),
    }
}

/// Copies the caller's tensors that peers write into the heaps.
fn copy_in(tables: &KernelTables, row: &[LaunchStep<'_>], session: &Session) {
    each_shared(tables, row, session, |heap, at, argument, rank| heap.copy_in(argument, rank, at));
}

/// Copies the tensors that peers wrote from the heaps to the caller's tensors.
fn copy_out(tables: &KernelTables, row: &[LaunchStep<'_>], session: &Session) {
    each_shared(tables, row, session, |heap, at, argument, rank| heap.copy_out(at, argument, rank));
}

fn each_shared(
    tables: &KernelTables,
    row: &[LaunchStep<'_>],
    session: &Session,
    copy: impl Fn(&SharedMapping, usize, &Argument<'_>, Rank),
) {
    for rank in session.here.clone() {
        let Some(heap) = session.shared_heap(rank) else { continue };
        let arguments = row.iter().flat_map(|step| shared_arguments(tables, step.arguments));
        arguments.for_each(|(tensor, argument)| copy(&heap, session.plan.tensors[tensor], argument, Rank::new(rank)));
    }
}

/// Runs all ranks of this process and waits for them. If a thread can't be started, the ranks that already run are stopped, because they
/// would wait for that rank.
fn run(
    shared: &LaunchShared<'_>,
    ranks: &mut [RankLaunch],
    regions: &[Vec<MemoryRegion>],
    member: Option<&Member>,
) -> Result<Vec<RankEnd>, LaunchError> {
    let over = AtomicBool::new(false);
    // Threads of this process check for themselves, but no thread of a rank watches other processes.
    let watch = Watch { member, cancel: None };
    thread::scope(|scope| {
        let lacks_thread = |rank: Rank, error: io::Error| {
            shared.end_all();
            LaunchError::lacking(rank.id(), Resource::RankThread, error.to_string())
        };
        let mut threads = Vec::new();
        let mut refused = None;
        let watcher = (!watch.is_idle()).then(|| {
            let over = &over;
            let stop = || {
                shared.stop.store(1, Ordering::SeqCst);
                true
            };
            thread::Builder::new().name("watch".to_owned()).spawn_scoped(scope, move || watch.run(over, stop))
        });
        let watcher = match watcher.transpose() {
            Ok(watcher) => watcher,
            Err(error) => return Err(lacks_thread(ranks[0].rank, error)),
        };
        let (own, others) = ranks.split_first_mut().expect("a process runs at least one rank");
        let caller = thread::current();
        for launch in others {
            let rank = launch.rank;
            match start(scope, shared, launch, regions, caller.clone()) {
                Ok(thread) => threads.push(thread),
                Err(error) => {
                    refused = Some(lacks_thread(rank, error));
                    break;
                }
            }
        }
        if shared.options.fault(own.rank) == Some(InjectedFault::RankThread) {
            refused = Some(lacks_thread(own.rank, io::ErrorKind::WouldBlock.into()));
        }
        let mut ends = vec![own.run(shared, regions)];
        ends.extend(threads.into_iter().map(|thread| join(shared, thread)));
        over.store(true, Ordering::Release);
        if let Some(watcher) = watcher {
            watcher.thread().unpark();
        }
        refused.map_or(Ok(ends), Err)
    })
}

/// Waits for the thread of a rank, and calls the program's function meanwhile.
fn join(shared: &LaunchShared<'_>, thread: ScopedJoinHandle<'_, RankEnd>) -> RankEnd {
    while !thread.is_finished() {
        thread::park_timeout(PAUSE);
        shared.attend(shared.caller);
    }
    thread.join().expect("a rank's thread does not panic")
}

fn start<'scope>(
    scope: &'scope Scope<'scope, '_>,
    shared: &'scope LaunchShared<'_>,
    launch: &'scope mut RankLaunch,
    regions: &'scope [Vec<MemoryRegion>],
    caller: Thread,
) -> io::Result<ScopedJoinHandle<'scope, RankEnd>> {
    let rank = launch.rank;
    if shared.options.fault(rank) == Some(InjectedFault::RankThread) {
        return Err(io::ErrorKind::WouldBlock.into());
    }
    let run = move || {
        let end = launch.run(shared, regions);
        caller.unpark();
        end
    };
    thread::Builder::new().name(rank.to_string()).spawn_scoped(scope, run)
}
