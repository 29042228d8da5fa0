//! The end of one rank's launches.

use crate::abi::{HPMOE_DONE, HpmoeRecord};
use crate::backend::host::{HostStatistics, Outcome};
use crate::layout::stamps::RankStamps;

/// The end of a rank's last launch.
pub(super) struct RankEnd {
    pub(super) outcome: Outcome,
    pub(super) records: Vec<HpmoeRecord>,
    /// Number of that launch.
    pub(super) number: i32,
    /// Sum over all of the rank's launches.
    pub(super) host: HostStatistics,
    /// The time stamps of its last launch.
    pub(super) stamps: RankStamps,
}

/// Whether all cores of a rank finished their queues.
pub(super) fn is_done(records: &[HpmoeRecord]) -> bool {
    records.iter().all(|record| record.state == HPMOE_DONE)
}
