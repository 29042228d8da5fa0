//! The end of one rank's launches.

use crate::abi::{HPMOE_DONE, HpmoeRecord};
use crate::backend::host::{HostStatistics, Outcome};
use crate::layout::stamps::RankStamps;

/// The end of a rank's last launch.
pub(super) struct RankEnd {
    pub(super) outcome: Outcome,
    pub(super) records: Vec<HpmoeRecord>,
    /// Number of the launch.
    pub(super) number: i32,
    /// Counts of the host's work, summed over all launches of the rank.
    pub(super) host: HostStatistics,
    /// Time stamps of the launch.
    pub(super) stamps: RankStamps,
}

/// Whether all cores of the rank finished their queues.
pub(super) fn is_done(records: &[HpmoeRecord]) -> bool {
    records.iter().all(|record| record.state == HPMOE_DONE)
}
