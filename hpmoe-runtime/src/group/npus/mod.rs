//! Launches on NPUs. Tables and tensors are copied to the NPUs, and all launches of a row are enqueued on the stream of each rank's NPU. A
//! separate call waits for them.

mod failure;
mod fixed;
mod processes;
mod rank;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32};
use std::time::{Duration, Instant};

use hpmoe_kernels::Rank;

use super::LaunchOptions;
use super::ends::exchange;
use super::member::Member;
use super::outcome::{memory, report};
use super::row::{LaunchStep, PreparedRow};
use super::session::Session;
use super::shared::LaunchShared;
use super::watch::Watch;
use crate::backend::npu::{Device, Npu, NpuError, take_turn};
use crate::layout::RankSizes;
use crate::layout::tables::{Addresses, Common, RankTables, TablePlace, TensorAddress};
use crate::report::MemoryUse;
use crate::tables::Storage;
use crate::{Argument, CompiledKernel, LaunchError, Report, Streams};
use failure::{failed, failed_end};
pub(super) use fixed::fix;
use processes::{each_shared, watched};
use rank::{Arguments, OnNpu, record_room, room_before_tables, seconds};

/// The NPU of each rank of this process, in the order of ranks. `member` is this process's rank, if ranks are processes.
#[derive(Clone, Copy)]
pub(super) struct LocalNpus<'a> {
    pub(super) npus: &'a [Arc<Npu>],
    pub(super) member: Option<&'a Member>,
}

/// Launches that are enqueued on NPUs, with the resources that they use until they have ended.
pub(super) struct Flight {
    kernel: CompiledKernel,
    options: LaunchOptions,
    /// Sizes of the memory that the launches use.
    sizes: RankSizes,
    steps: usize,
    first: i32,
    ranks: Vec<OnNpu>,
    memory: MemoryUse,
    start: Instant,
    enqueued: Result<(), (usize, NpuError)>,
    /// How often the launches were enqueued since the last wait.
    pending: u32,
    /// Number of launches with invalid ids or too many rows that were reported in earlier waits.
    unrouted: u32,
}

/// Enqueues a row of at least one step on the NPUs of this process. Arguments and capacity have been checked. If ranks are processes, all
/// of them call this.
pub(super) fn enqueue(
    kernel: &CompiledKernel,
    row: &PreparedRow<'_>,
    options: &LaunchOptions,
    session: &mut Session,
    local: LocalNpus<'_>,
    streams: Option<&Streams>,
) -> Result<Flight, LaunchError> {
    let mut flight = copied(kernel, &row.steps, options, session, local)?;
    let stop = AtomicI32::new(0);
    let mut ranks = std::mem::take(&mut flight.ranks);
    flight.start = Instant::now();
    let shared = flight.shared(&stop);
    let launches = shared.launches();
    let watch = Watch { member: local.member, cancel: options.cancel.as_ref() };
    let _turn = take_turn();
    let enqueued = each_stream(&ranks, streams, Device::follow)
        .and_then(|()| {
            place_all(&shared, row, session, &mut ranks, launches, |session, rank, launch, block| {
                let sent = rank.send(&shared, launch, block, |wait| watched(watch, session, wait))?;
                rank.start(&shared, launch)?;
                sent.launched()
            })
        })
        .and_then(|()| each_stream(&ranks, streams, Device::precede));
    session.launches = session.launches.wrapping_add_unsigned(launches);
    (flight.ranks, flight.enqueued, flight.pending) = (ranks, enqueued, 1);
    Ok(flight)
}

/// Makes launches whose tensors are in the memory of the NPUs, without enqueuing anything.
fn copied(
    kernel: &CompiledKernel,
    row: &[LaunchStep<'_>],
    options: &LaunchOptions,
    session: &mut Session,
    LocalNpus { npus, member }: LocalNpus<'_>,
) -> Result<Flight, LaunchError> {
    let mut flight = Flight {
        kernel: *kernel,
        options: options.clone(),
        sizes: session.sizes,
        steps: row.len(),
        first: session.launches + 1,
        ranks: Vec::new(),
        memory: memory(kernel.tables(), row, session),
        start: Instant::now(),
        enqueued: Ok(()),
        pending: 0,
        unrouted: 0,
    };
    let on_npu = |(rank, npu): (usize, &Arc<Npu>)| {
        let (rank, program) = (Rank::new(rank), npu.program(kernel)?);
        let copy_in = |step: &LaunchStep<'_>| Arguments::copy_in(npu, rank, step.arguments);
        let arguments = row.iter().map(copy_in).collect::<Result<_, _>>()?;
        Ok(OnNpu { npu: Arc::clone(npu), rank, program, launches: Vec::new(), arguments })
    };
    let ranks = session.here.clone().zip(npus).map(on_npu).collect::<Result<Vec<_>, NpuError>>();
    let stop = AtomicI32::new(0);
    flight.ranks = match member {
        None => ranks?,
        Some(member) => {
            let arguments: Vec<_> = row.iter().map(|step| step.arguments).collect();
            let shared = flight.shared(&stop);
            let copy_in =
                || each_shared(&shared, &arguments, session, |heap, at, part, rank| heap.copy_in(part, rank, at));
            let own = ranks.and_then(|ranks| copy_in().map(|()| (ranks, Vec::new()))).map_err(LaunchError::from);
            member.exchange_results("the start of a launch", own, options.patience(1))?.0
        }
    };
    Ok(flight)
}

impl Flight {
    /// The name and the fingerprint of the kernel.
    pub(super) const fn kernel(&self) -> (&'static str, &'static str) {
        (self.kernel.tables().name, self.kernel.tables().fingerprint)
    }

    const fn shared<'a>(&'a self, stop: &'a AtomicI32) -> LaunchShared<'a> {
        LaunchShared {
            checks: true,
            caller: Rank::new(0),
            kernel: &self.kernel,
            options: &self.options,
            sizes: self.sizes,
            steps: self.steps,
            first: self.first,
            stop,
            races: None,
            writer: None,
            failed: AtomicBool::new(false),
        }
    }

    /// Maximum time that all pending launches may take together.
    pub(super) fn limit(&self) -> Duration {
        let stop = AtomicI32::new(0);
        let shared = self.shared(&stop);
        Duration::from_secs(seconds(&shared).into()) * shared.launches().saturating_mul(self.pending)
    }

    /// Waits until all NPUs are idle, for at most `limit` plus 5 seconds.
    pub(super) fn wait(&self, limit: Duration) -> Result<(), (usize, NpuError)> {
        // The limit that ends launches should be the one closest to the fault.
        let limit = limit + Duration::from_secs(5);
        let wait = |rank: &OnNpu| rank.npu.wait(limit).map_err(|error| (rank.rank.id(), error));
        self.ranks.iter().map(wait).collect::<Vec<_>>().into_iter().collect()
    }
}

/// The result of waiting for launches.
pub(super) struct Landing {
    pub(super) result: Result<Report, LaunchError>,
    /// Whether no kernel runs any more. If it is false, kernels may still use the memory of the launches.
    pub(super) over: bool,
}

/// Waits for launches, for at most `limit`, and copies their results to the caller's tensors. If ranks are processes, all of them call this
/// and get the same result, unless one fails.
pub(super) fn finish(
    flight: &mut Flight,
    row: &[&[Argument<'_>]],
    session: &Session,
    member: Option<&Member>,
    limit: Duration,
) -> Landing {
    let stop = AtomicI32::new(0);
    let watch = Watch { member, cancel: flight.options.cancel.as_ref() };
    let waited = watched(watch, session, || flight.wait(limit));
    let wall = flight.start.elapsed();
    let over = waited.is_ok();
    let enqueued = std::mem::replace(&mut flight.enqueued, Ok(()));
    flight.pending = 0;
    let told = flight.unrouted;
    let (shared, ranks) = (flight.shared(&stop), &flight.ranks);
    let told_others = match (member, enqueued.as_ref().and(waited.as_ref())) {
        // The other ranks wait for the end of this one. A rank that does not take part in this exchange was gone before.
        (Some(member), Err((rank, cause))) => Some(exchange(&shared, member, failed_end(&shared, *rank, cause))),
        _ => None,
    };
    if !over {
        return Landing { result: Err(failed(&shared, told_others, enqueued.and(waited), ranks)), over };
    }
    let mut unrouted = told;
    let result = enqueued.map_err(|(_, cause)| cause.into()).and_then(|()| {
        let mut ends = ranks.iter().map(|rank| rank.end(&shared)).collect::<Result<Vec<_>, _>>()?;
        if let Some(member) = member {
            ends = exchange(&shared, member, ends.pop().expect("if ranks are processes, each process runs one rank"))?;
            each_shared(&shared, row, session, |heap, at, argument, rank| heap.copy_out(at, argument, rank))?;
        }
        for rank in ranks {
            rank.copy_out(shared.kernel.tables(), row, session.sizes.processes)?;
        }
        unrouted = ends.iter().flat_map(|end| &end.records).map(|record| record.unrouted).max().unwrap_or(0);
        let report = report(&shared, flight.memory.clone(), (flight.start, wall), ends)?;
        match unrouted - told {
            0 => Ok(report),
            launches => Err(LaunchError::Unrouted { kernel: shared.kernel.tables().name, launches }),
        }
    });
    flight.unrouted = unrouted;
    let chip = ranks.first().map(|rank| rank.npu.chip()).unwrap_or_default();
    Landing { result: result.map(|report| report.of_npus(chip)), over }
}

/// Makes the argument blocks of several launches. All ranks of this process get their block of a launch before any gets the next one,
/// because a rank's kernel waits for its peers' kernels. `then` copies each block to its NPU.
fn place_all(
    shared: &LaunchShared<'_>,
    row: &PreparedRow<'_>,
    session: &mut Session,
    ranks: &mut [OnNpu],
    launches: u32,
    then: impl Fn(&Session, &OnNpu, usize, &[u8]) -> Result<(), NpuError>,
) -> Result<(), (usize, NpuError)> {
    let PreparedRow { schedule, steps, .. } = row;
    let (limit, stamp_room) = (shared.options.time_limit_cycles(), shared.options.stamp_room);
    let common = Common::new(shared.kernel.tables(), schedule, &session.plan, limit, stamp_room);
    let heaps: Vec<u64> = session.ranks.iter_mut().map(|memory| memory.heap.address()).collect();
    let workspaces: Vec<u64> = session.ranks.iter_mut().map(|memory| memory.workspace.address()).collect();
    let session = &*session;
    for launch in 0..launches as usize {
        let step = launch % steps.len();
        let places: Vec<Vec<u64>> = ranks.iter().map(|rank| rank.arguments[step].addresses()).collect();
        for (place, rank) in ranks.iter_mut().enumerate() {
            let (own, id) = (&places[place], rank.rank.id());
            let on_each = |number: usize, at: usize| match session.sizes.processes {
                true => heaps.iter().map(|heap| heap + at as u64).collect(),
                false => places.iter().map(|rank| rank[number]).collect(),
            };
            let place = |(storage, at): (Storage, usize)| match storage {
                Storage::Argument(number) => TensorAddress::At(own[number]),
                Storage::Shared(number) => TensorAddress::OnEach(on_each(number, at)),
                Storage::Workspace => TensorAddress::At(workspaces[id] + at as u64),
                Storage::Symmetric => TensorAddress::At(at as u64),
            };
            let storages = shared.kernel.tables().tensors.iter().map(|tensor| tensor.storage);
            let tensors: Vec<TensorAddress> = storages.zip(session.plan.tensors.iter().copied()).map(place).collect();
            let tables = |records| {
                let place = TablePlace::At(records + room_before_tables(shared) as u64);
                let stamps = match shared.kernel.tables().time_stamps {
                    true => records + record_room(shared.kernel.tables()) as u64,
                    false => 0,
                };
                let addresses = Addresses { peers: &heaps, tensors: &tensors, records, stamps, tables: place };
                RankTables::new(&common, &steps[step].route, Rank::new(id), &addresses)
            };
            let block = rank.block(shared, tables);
            block.and_then(|block| then(session, rank, launch, &block)).map_err(|error| (id, error))?;
        }
    }
    Ok(())
}

/// Calls `order` for each rank's NPU and the caller's stream for it, if there are streams.
fn each_stream(
    ranks: &[OnNpu],
    streams: Option<&Streams>,
    order: impl Fn(&Device, usize) -> Result<(), NpuError>,
) -> Result<(), (usize, NpuError)> {
    let Some(streams) = streams else { return Ok(()) };
    ranks
        .iter()
        .try_for_each(|OnNpu { npu, rank, .. }| order(npu, streams.of(*rank)).map_err(|error| (rank.id(), error)))
}
