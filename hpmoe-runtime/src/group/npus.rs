//! Launches on NPUs: tables and tensors are copied there, all launches of a row are put on the stream of each rank's NPU, and then waited
//! for.
#![expect(unsafe_code, reason = "the launch of a kernel")]

use std::sync::atomic::{AtomicBool, AtomicI32};
use std::thread::sleep;
use std::time::{Duration, Instant};

use bytemuck::Zeroable as _;
use hpmoe_kernels::Rank;

use super::LaunchOptions;
use super::launch::{LaunchShared, LaunchStep};
use super::outcome::{is_done, memory, report};
use super::rank::RankEnd;
use super::session::Session;
use crate::abi::{HpmoeRecord, LINE};
use crate::backend::host::{HostStatistics, Outcome};
use crate::backend::npu::{DeviceMemory, Npu, NpuError, Program, Start};
use crate::layout::tables::{Addresses, Common, RankTables, TablePlace, TensorAddress, record_bytes};
use crate::memory::OffsetAllocator;
use crate::report::StuckReport;
use crate::tables::{ScheduleTable, Storage};
use crate::{CompiledKernel, KernelTables, LaunchError, Report};

/// The least that a kernel may run, in addition to what one of its waits may take.
const RUN: Duration = Duration::from_secs(60);

/// What launches on one NPU keep there until they have ended. Dropped from the first to the last: tables refer to arguments.
struct OnNpu<'a> {
    npu: &'a Npu,
    rank: Rank,
    program: Program,
    /// Tables and records of each launch.
    launches: Vec<DeviceMemory>,
    /// The caller's tensors, for each step.
    arguments: Vec<Arguments>,
}

/// The caller's tensors of one rank and step.
struct Arguments {
    memory: DeviceMemory,
    /// Byte offset of each.
    at: Vec<usize>,
}

/// Runs a row of at least one step, with an NPU for each rank. Arguments and capacity have been checked.
pub(super) fn launch(
    kernel: &CompiledKernel,
    schedule: &ScheduleTable,
    row: &[LaunchStep<'_>],
    options: &LaunchOptions,
    session: &mut Session,
    npus: &[Npu],
) -> Result<Report, LaunchError> {
    let stop = AtomicI32::new(0);
    let shared = LaunchShared {
        kernel,
        options,
        ranks: npus.len(),
        steps: row.len(),
        first: session.launches + 1,
        stop: &stop,
        failed: AtomicBool::new(false),
    };
    let mut ranks = Vec::with_capacity(npus.len());
    for (rank, npu) in npus.iter().enumerate() {
        let (rank, program) = (Rank::new(rank), Program::load(npu, kernel)?);
        let arguments = row.iter().map(|step| Arguments::copy_in(npu, rank, step)).collect::<Result<_, _>>()?;
        ranks.push(OnNpu { npu, rank, program, launches: Vec::new(), arguments });
    }
    let start = Instant::now();
    let enqueued = enqueue_all(&shared, schedule, row, session, &mut ranks);
    let waited = wait_all(&shared, &ranks);
    let wall = start.elapsed();
    if waited.is_err() {
        // What a kernel may still be using is not given back.
        std::mem::forget(std::mem::take(&mut session.ranks));
        return Err(failed(&shared, enqueued.and(waited), ranks));
    }
    enqueued.map_err(|(_, cause)| cause)?;
    let ends = ranks.iter().map(|rank| rank.end(&shared)).collect::<Result<Vec<_>, _>>()?;
    for rank in &ranks {
        rank.copy_out(kernel.tables(), row)?;
    }
    session.launches += shared.launches().cast_signed();
    let report = report(&shared, memory(kernel.tables(), row, session), wall, ends)?;
    Ok(Report { on_npus: true, ..report })
}

/// Puts all launches on the streams, launch by launch: a rank's kernel waits for those of its peers.
fn enqueue_all(
    shared: &LaunchShared<'_>,
    schedule: &ScheduleTable,
    row: &[LaunchStep<'_>],
    session: &mut Session,
    ranks: &mut [OnNpu<'_>],
) -> Result<(), (usize, NpuError)> {
    let common = Common::new(shared.kernel.tables(), schedule, &session.plan, shared.options.time_limit_cycles());
    let heaps: Vec<u64> = session.ranks.iter_mut().map(|memory| memory.heap.address()).collect();
    let workspaces: Vec<u64> = session.ranks.iter_mut().map(|memory| memory.workspace.address()).collect();
    for number in (shared.first..).take(shared.launches() as usize) {
        let step = shared.step(number);
        let places: Vec<Vec<u64>> = ranks.iter().map(|rank| rank.arguments[step].addresses()).collect();
        for rank in ranks.iter_mut() {
            let id = rank.rank.id();
            let place = |(storage, at): (Storage, usize)| match storage {
                Storage::Argument(number) => TensorAddress::At(places[id][number]),
                Storage::Shared(number) => TensorAddress::OnEach(places.iter().map(|rank| rank[number]).collect()),
                Storage::Workspace => TensorAddress::At(workspaces[id] + at as u64),
                Storage::Symmetric => TensorAddress::At(at as u64),
            };
            let storages = shared.kernel.tables().tensors.iter().map(|tensor| tensor.storage);
            let tensors: Vec<TensorAddress> = storages.zip(session.plan.tensors.iter().copied()).map(place).collect();
            let tables = |records| {
                let place = TablePlace::At(records + record_room(shared.kernel.tables()) as u64);
                let addresses = Addresses { peers: &heaps, tensors: &tensors, records, tables: place };
                RankTables::new(&common, &row[step].chunks, Rank::new(id), &addresses)
            };
            rank.enqueue(shared, number, tables).map_err(|error| (id, error))?;
        }
    }
    Ok(())
}

/// Waits for the NPUs of all ranks, and returns the first failure.
fn wait_all(shared: &LaunchShared<'_>, ranks: &[OnNpu<'_>]) -> Result<(), (usize, NpuError)> {
    // Longer than the launches together may take: what ends them should be the nearest to the fault.
    let limit = Duration::from_secs(seconds(shared).into()) * shared.launches() + Duration::from_secs(5);
    let ends: Vec<_> = ranks.iter().map(|rank| rank.npu.wait(limit).map_err(|error| (rank.rank.id(), error))).collect();
    ends.into_iter().collect()
}

/// The error of launches that failed, with what their cores were doing if that can be read.
fn failed(shared: &LaunchShared<'_>, result: Result<(), (usize, NpuError)>, ranks: Vec<OnNpu<'_>>) -> LaunchError {
    let records = ranks.iter().map(|rank| rank.end(shared).map(|end| end.records)).collect::<Result<Vec<_>, _>>();
    std::mem::forget(ranks);
    match (result, records) {
        (Err((rank, cause)), Ok(records)) => {
            let report = StuckReport::new(shared.kernel.tables(), shared.options.time_limit, &records);
            LaunchError::NpuLaunch { rank, cause, report: Box::new(report) }
        }
        (Err((_, cause)), Err(_)) => cause.into(),
        (Ok(()), _) => LaunchError::Broken,
    }
}

impl OnNpu<'_> {
    /// Puts one launch on the stream; `tables` are those for records at an address.
    fn enqueue(
        &mut self,
        shared: &LaunchShared<'_>,
        number: i32,
        tables: impl Fn(u64) -> RankTables,
    ) -> Result<(), NpuError> {
        if let Some(delay) = shared.options.delays.get(&self.rank.id()) {
            sleep(*delay);
        }
        let room = record_room(shared.kernel.tables());
        let memory = DeviceMemory::new(self.npu, room + tables(0).image_bytes())?;
        let mut tables = tables(memory.address());
        tables.number(number);
        memory.write(0, &vec![0; room])?;
        memory.write(room, &tables.image())?;
        let launch = tables.launch_address();
        let start = Start { groups: shared.kernel.tables().aic, launch, seconds: seconds(shared) };
        // Before the launch: whatever happens now, it stays until the stream has been waited for.
        self.launches.push(memory);
        // SAFETY: made from this kernel's tables, which `launches` and `arguments` hold until the stream has been waited for; the
        // session's memory outlives the launch.
        unsafe { self.program.enqueue(self.npu, start) }
    }

    /// The end of the first launch that did not end well, or of the last one.
    fn end(&self, shared: &LaunchShared<'_>) -> Result<RankEnd, NpuError> {
        let cores = (shared.kernel.tables().aic + shared.kernel.tables().aiv) as usize;
        let mut last = (shared.first, vec![HpmoeRecord::zeroed(); cores]);
        for (number, memory) in (shared.first..).zip(&self.launches) {
            memory.read(0, bytemuck::cast_slice_mut(&mut last.1))?;
            last.0 = number;
            if !is_done(&last.1) {
                break;
            }
        }
        let host = HostStatistics::default();
        Ok(RankEnd { outcome: Outcome::Left(host), records: last.1, number: last.0, host })
    }

    /// Brings what the launches wrote to the caller's tensors.
    fn copy_out(&self, tables: &KernelTables, row: &[LaunchStep<'_>]) -> Result<(), NpuError> {
        let written = |argument: usize| {
            let of_argument = |storage| matches!(storage, Storage::Argument(n) | Storage::Shared(n) if n == argument);
            tables.tensors.iter().any(|tensor| tensor.writable && of_argument(tensor.storage))
        };
        for (step, arguments) in row.iter().zip(&self.arguments) {
            for (number, (argument, at)) in step.arguments.iter().zip(&arguments.at).enumerate() {
                if written(number) {
                    arguments.memory.copy_out(*at, argument, self.rank)?;
                }
            }
        }
        Ok(())
    }
}

impl Arguments {
    fn copy_in(npu: &Npu, rank: Rank, step: &LaunchStep<'_>) -> Result<Self, NpuError> {
        let mut room = OffsetAllocator::default();
        let at: Vec<usize> = step.arguments.iter().map(|argument| room.take(argument.bytes(rank))).collect();
        let memory = DeviceMemory::new(npu, room.end())?;
        for (argument, at) in step.arguments.iter().zip(&at) {
            memory.copy_in(argument, rank, *at)?;
        }
        Ok(Self { memory, at })
    }

    fn addresses(&self) -> Vec<u64> {
        self.at.iter().map(|at| self.memory.address() + *at as u64).collect()
    }
}

/// Room for the records, in front of the tables.
const fn record_room(tables: &KernelTables) -> usize {
    record_bytes(tables).next_multiple_of(LINE)
}

/// The longest that one launch may run: a wait of a core ends first.
fn seconds(shared: &LaunchShared<'_>) -> u16 {
    let limit = shared.options.time_limit.saturating_mul(2).saturating_add(RUN);
    u16::try_from(limit.as_secs()).unwrap_or(u16::MAX)
}
