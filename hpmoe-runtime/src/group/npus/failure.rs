//! Errors of launches whose NPU failed.

use bytemuck::Zeroable as _;

use super::super::outcome::cause_of_others;
use super::super::rank_end::RankEnd;
use super::super::shared::LaunchShared;
use super::rank::OnNpu;
use crate::LaunchError;
use crate::abi::HpmoeRecord;
use crate::backend::host::{HostStatistics, Outcome};
use crate::backend::npu::NpuError;
use crate::bootstrap::BootstrapError;
use crate::layout::stamps::RankStamps;
use crate::report::StuckReport;

/// The error of launches that failed, with the state of their cores if it can be read. `exchange` is the result of the exchange in which
/// this rank reported its failure, if it did. If that shows that another rank was gone or failed by itself, that rank is the cause.
pub(super) fn failed(
    shared: &LaunchShared<'_>,
    exchange: Option<Result<Vec<RankEnd>, LaunchError>>,
    result: Result<(), (usize, NpuError)>,
    ranks: &[OnNpu],
) -> LaunchError {
    let tables = shared.kernel.tables();
    let cause = match (&exchange, &result) {
        (Some(Ok(ends)), Err((rank, npu))) if npu.is_lost_peer() => cause_of_others(tables, ends, *rank),
        _ => None,
    };
    if let Some(cause) = cause {
        return cause;
    }
    let records = ranks.iter().map(|rank| rank.end(shared).map(|end| end.records)).collect::<Result<Vec<_>, _>>();
    let limit = shared.options.time_limit;
    let of_rank = |rank, records: &[HpmoeRecord]| {
        Box::new(StuckReport::of_rank(tables, limit, shared.sizes.ranks, rank, records))
    };
    match (exchange, result, records) {
        (
            Some(Err(LaunchError::Lost { cause: cause @ BootstrapError::Gone { .. }, .. })),
            Err((rank, npu)),
            records,
        ) => {
            let report = records.ok().map(|records| of_rank(rank, &records[0]));
            LaunchError::Lost { cause, npu: Some(Box::new(npu)), report }
        }
        (_, Err((rank, cause)), Ok(records)) if records.len() < shared.sizes.ranks => {
            LaunchError::NpuLaunch { rank, cause, report: of_rank(rank, &records[0]) }
        }
        (_, Err((rank, cause)), Ok(records)) => {
            LaunchError::NpuLaunch { rank, cause, report: Box::new(StuckReport::new(tables, limit, &records)) }
        }
        (_, Err((_, cause)), Err(_)) => cause.into(),
        (_, Ok(()), _) => LaunchError::Broken,
    }
}

/// The end of a rank whose NPU failed, as it is sent to the other ranks.
pub(super) fn failed_end(shared: &LaunchShared<'_>, rank: usize, cause: &NpuError) -> RankEnd {
    let cores = (shared.kernel.tables().aic + shared.kernel.tables().aiv) as usize;
    let message = format!("rank {rank}: {cause}");
    RankEnd {
        // No core: it is the NPU's failure.
        outcome: Outcome::BrokenRule { message, core: cores },
        records: vec![HpmoeRecord::zeroed(); cores],
        number: shared.first,
        host: HostStatistics::default(),
        stamps: RankStamps::default(),
    }
}
