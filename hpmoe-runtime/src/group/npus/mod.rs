//! Launches on NPUs: tables and tensors are copied there, all launches of a row are put on the stream of each rank's NPU, and then waited
//! for.

mod processes;
mod rank;

use std::sync::atomic::{AtomicBool, AtomicI32};
use std::time::{Duration, Instant};

use hpmoe_kernels::Rank;

use super::LaunchOptions;
use super::ends::exchange;
use super::launch::{LaunchShared, LaunchStep};
use super::member::Member;
use super::outcome::{memory, report};
use super::session::Session;
use crate::backend::npu::{Npu, NpuError, Program, take_turn};
use crate::layout::tables::{Addresses, Common, RankTables, TablePlace, TensorAddress};
use crate::report::StuckReport;
use crate::tables::{ScheduleTable, Storage};
use crate::{CompiledKernel, LaunchError, Report};
use processes::{each_shared, failed_end, watched};
use rank::{Arguments, OnNpu, record_room, seconds};

/// Runs a row of at least one step, with an NPU for each rank here. Arguments and capacity have been checked. If ranks are processes, all
/// of them call it and get the same result, unless one fails.
pub(super) fn launch(
    kernel: &CompiledKernel,
    schedule: &ScheduleTable,
    row: &[LaunchStep<'_>],
    options: &LaunchOptions,
    session: &mut Session,
    (npus, member): (&[Npu], Option<&Member>),
) -> Result<Report, LaunchError> {
    let stop = AtomicI32::new(0);
    let shared = LaunchShared {
        kernel,
        options,
        ranks: session.ranks.len(),
        steps: row.len(),
        first: session.launches + 1,
        stop: &stop,
        races: None,
        failed: AtomicBool::new(false),
    };
    let on_npu = |(rank, npu)| {
        let (rank, program) = (Rank::new(rank), Program::load(npu, kernel)?);
        let arguments = row.iter().map(|step| Arguments::copy_in(npu, rank, step)).collect::<Result<_, _>>()?;
        Ok(OnNpu { npu, rank, program, launches: Vec::new(), arguments })
    };
    let ranks = session.here.clone().zip(npus).map(on_npu).collect::<Result<Vec<_>, NpuError>>();
    let mut ranks = match member {
        None => ranks?,
        Some(member) => {
            let copy_in = || each_shared(&shared, row, session, |heap, at, part, rank| heap.copy_in(part, rank, at));
            let own = ranks.and_then(|ranks| copy_in().map(|()| (ranks, Vec::new()))).map_err(LaunchError::from);
            member.exchange_results("the start of a launch", own, options.patience(1))?.0
        }
    };
    let start = Instant::now();
    let enqueued = enqueue_all(&shared, schedule, row, session, &mut ranks);
    let waited = match member {
        None => wait_all(&shared, &ranks),
        Some(member) => watched(&shared, member, session, || wait_all(&shared, &ranks)),
    };
    let wall = start.elapsed();
    if let (Some(member), Err((rank, cause))) = (member, enqueued.as_ref().and(waited.as_ref())) {
        // The other ranks wait for the end of this one. That they may be gone, too, is not the first error.
        let _ = exchange(&shared, member, failed_end(&shared, *rank, cause));
    }
    if waited.is_err() {
        // What a kernel may still be using is not given back.
        std::mem::forget(std::mem::take(&mut session.ranks));
        return Err(failed(&shared, enqueued.and(waited), ranks));
    }
    enqueued.map_err(|(_, cause)| cause)?;
    let mut ends = ranks.iter().map(|rank| rank.end(&shared)).collect::<Result<Vec<_>, _>>()?;
    if let Some(member) = member {
        ends = exchange(&shared, member, ends.pop().expect("a process of many runs one rank"))?;
        each_shared(&shared, row, session, |heap, at, argument, rank| heap.copy_out(at, argument, rank))?;
    }
    for rank in &ranks {
        rank.copy_out(kernel.tables(), row, session.sizes.processes)?;
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
    let _turn = take_turn();
    for number in (shared.first..).take(shared.launches() as usize) {
        let step = shared.step(number);
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
                let place = TablePlace::At(records + record_room(shared.kernel.tables()) as u64);
                let addresses = Addresses { peers: &heaps, tensors: &tensors, records, tables: place };
                RankTables::new(&common, &row[step].route, Rank::new(id), &addresses)
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
        (Err((rank, cause)), Ok(records)) if records.len() < shared.ranks => {
            let (tables, limit) = (shared.kernel.tables(), shared.options.time_limit);
            let report = StuckReport::of_rank(tables, limit, shared.ranks, rank, &records[0]);
            LaunchError::NpuLaunch { rank, cause, report: Box::new(report) }
        }
        (Err((rank, cause)), Ok(records)) => {
            let report = StuckReport::new(shared.kernel.tables(), shared.options.time_limit, &records);
            LaunchError::NpuLaunch { rank, cause, report: Box::new(report) }
        }
        (Err((_, cause)), Err(_)) => cause.into(),
        (Ok(()), _) => LaunchError::Broken,
    }
}
