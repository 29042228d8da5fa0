//! Combines the ends of all ranks into one result.

use std::time::{Duration, Instant, SystemTime};

use bytemuck::Zeroable as _;
use hpmoe_kernels::memory::{capacity_rule, default_capacity};
use hpmoe_kernels::route::{KEPT_CHUNKS, KEPT_PLACEMENT};
use hpmoe_kernels::{Rank, RouteError};

use super::rank_end::{RankEnd, is_done};
use super::row::LaunchStep;
use super::session::Session;
use super::shared::LaunchShared;
use crate::abi::{
    HPMOE_ROUTE_APART, HPMOE_ROUTE_CAPACITY, HPMOE_ROUTE_ID, HPMOE_ROUTE_KEPT, HPMOE_ROUTE_PLACED, HPMOE_ROUTE_TWICE,
    HPMOE_UNROUTED, HpmoeRecord,
};
use crate::backend::host::{HostStatistics, Outcome};
use crate::layout::stamps::RankStamps;
use crate::report::{MemoryUse, StuckReport, TaskSite, Trace};
use crate::tables::{KernelTables, RowKind, Storage, TensorTable};
use crate::{LaunchError, Report};

/// The memory of a row of launches, for the report.
pub(super) fn memory(tables: &KernelTables, row: &[LaunchStep<'_>], session: &Session) -> MemoryUse {
    let Some(step) = row.last() else { return MemoryUse::default() };
    let route = &step.route;
    let most_bytes = |tensor: &TensorTable| {
        let bytes = |rank| route.rows(tensor.row_kind, rank) * tensor.row_bytes();
        route.ranks().into_iter().map(bytes).max().unwrap_or(0)
    };
    let is_kept = |tensor: &&TensorTable| {
        let argument = matches!(tensor.storage, Storage::Argument(_) | Storage::Shared(_));
        argument && matches!(tensor.row_kind, RowKind::Received | RowKind::Once)
    };
    let kept = tables.tensors.iter().filter(is_kept).map(|tensor| (tensor.name, most_bytes(tensor)));
    let (plan, capacity) = (&session.plan, session.sizes.capacity);
    let (sizes, ranks) = (tables.sizes(), session.sizes.ranks);
    let is_default = capacity == default_capacity(&sizes, ranks);
    MemoryUse {
        counters: plan.counters.count,
        workspace: plan.workspace + plan.heap_tensors(),
        capacity: (capacity, if is_default { capacity_rule(&sizes, ranks) } else { "as the group says" }),
        kept: kept.collect(),
    }
}

/// The report, or the cause of a failure: a broken rule or a missing resource on one rank stops the others, so it is
/// looked for before a core that waited in vain.
pub(super) fn report(
    shared: &LaunchShared<'_>,
    memory: MemoryUse,
    (start, wall): (Instant, Duration),
    mut ends: Vec<RankEnd>,
) -> Result<Report, LaunchError> {
    let tables = shared.kernel.tables();
    if let Some(error) = ends.iter().enumerate().find_map(|(rank, end)| cause(tables, &ends, rank, end)) {
        return Err(error);
    }
    if let Some(error) = no_route(shared, &ends) {
        return Err(error);
    }
    let last = ends.iter().map(|end| end.number).max();
    let mut host = HostStatistics::default();
    ends.iter().for_each(|end| host.add(&end.host));
    // A rank that finished an earlier launch did not start the one that another rank was in.
    let last_records = |end: RankEnd| match Some(end.number) == last || !is_done(&end.records) {
        true => end.records,
        false => vec![HpmoeRecord::zeroed(); end.records.len()],
    };
    let stamps: Vec<RankStamps> = ends.iter_mut().map(|end| std::mem::take(&mut end.stamps)).collect();
    let records: Vec<Vec<HpmoeRecord>> = ends.into_iter().map(last_records).collect();
    if !records.iter().all(|records| is_done(records)) {
        return Err(LaunchError::Stuck(StuckReport::new(tables, shared.options.time_limit, &records)));
    }
    let trace = tables.time_stamps.then(|| Trace::new(tables, &stamps));
    let begun = SystemTime::now() - start.elapsed();
    let report = Report::new(tables, &records, shared.launches(), memory, wall, host).with_checks(shared.checks);
    Ok(Report { begun, trace, ..report })
}

/// The error for a launch without a valid route, which all ranks have found.
fn no_route(shared: &LaunchShared<'_>, ends: &[RankEnd]) -> Option<LaunchError> {
    let tables = shared.kernel.tables();
    let unrouted = |end: &RankEnd| end.records.iter().find(|record| record.state == HPMOE_UNROUTED).copied();
    let found = ends.iter().find_map(unrouted)?;
    // The id is known to its own rank.
    let record = ends.get(found.item as usize).and_then(unrouted).unwrap_or(found);
    let (rank, at, id) = (Rank::new(record.item as usize), record.column as usize, record.need);
    let (token, k) = (at / tables.top_k, at % tables.top_k);
    match (record.group, tables.whole_slots) {
        (HPMOE_ROUTE_ID, Some(task)) if id == -1 => Some(LaunchError::empty_slot(tables, task, rank, at)),
        (HPMOE_ROUTE_ID, _) => Some(match of_another_group(tables, id) {
            Some((id, sizes)) => RouteError::of_another_group(rank, at, id, sizes).into(),
            None => RouteError::Id { rank, token, k, id, experts: tables.experts }.into(),
        }),
        (HPMOE_ROUTE_TWICE, _) => {
            let first = record.index as usize % tables.top_k;
            Some(RouteError::Twice { rank, token, id, first, second: k }.into())
        }
        (HPMOE_ROUTE_KEPT, _) => Some(not_kept(rank, &record).into()),
        (HPMOE_ROUTE_PLACED, _) => Some(RouteError::PlacedApart { rank: Rank::new(0), other: rank }.into()),
        (HPMOE_ROUTE_APART, _) => Some(RouteError::KeptApart { rank }.into()),
        (HPMOE_ROUTE_CAPACITY, _) => Some(LaunchError::capacity(tables, &shared.sizes, rank, at)),
        _ => None,
    }
}

/// For an id that is valid but belongs to another group: the id, with the number of ids of a token, ids of a group, and experts of a group.
/// `None` if ids have no groups or the id is invalid.
fn of_another_group(tables: &KernelTables, id: i32) -> Option<(usize, (usize, usize, usize))> {
    let groups = tables.route?.groups?;
    let id = usize::try_from(id).ok().filter(|id| *id < tables.experts)?;
    Some((id, (tables.top_k, tables.top_k / groups, tables.experts / groups)))
}

/// The error for a kept route that is missing or does not fit this launch.
fn not_kept(rank: Rank, record: &HpmoeRecord) -> RouteError {
    const WORDS: [&str; 10] = ["", "", "ranks", "rank", "experts", "TOP_K", "tokens", "ids of a group", "", "chunks"];
    if record.column as usize == KEPT_PLACEMENT {
        return RouteError::KeptPlaced { rank };
    }
    match WORDS.get(record.column as usize).filter(|what| !what.is_empty()) {
        Some(what) => {
            // No chunks are one.
            let least = if record.column as usize == KEPT_CHUNKS { 1 } else { 0 };
            let [found, wanted] = [record.need, record.have].map(|word| least.max(word.unsigned_abs() as usize));
            RouteError::KeptFor { rank, what, found, wanted }
        }
        None => RouteError::NotKept { rank },
    }
}

/// The error of the first rank, other than `own`, that failed by itself.
pub(super) fn cause_of_others(tables: &KernelTables, ends: &[RankEnd], own: usize) -> Option<LaunchError> {
    ends.iter().enumerate().filter(|(rank, _)| *rank != own).find_map(|(rank, end)| cause(tables, ends, rank, end))
}

/// The error of a rank, if that rank failed by itself.
fn cause(tables: &KernelTables, ends: &[RankEnd], rank: usize, end: &RankEnd) -> Option<LaunchError> {
    match &end.outcome {
        Outcome::BrokenRule { message, core } => {
            let site = TaskSite::new(tables, ends.len(), rank);
            let source_line = end.records.get(*core).and_then(|record| site.call(record));
            Some(LaunchError::Rule { message: message.clone(), source_line })
        }
        Outcome::Lacking { resource, cause } => Some(LaunchError::lacking(rank, *resource, cause.clone())),
        Outcome::Left(_) | Outcome::Stopped => None,
    }
}
