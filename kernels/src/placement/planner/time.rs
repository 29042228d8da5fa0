//! The time of a rank: the time for its rows or for reading weights, whichever is longer.

use crate::placement::shares::WHOLE;

/// Times of a layer on one rank, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PlacementCosts {
    /// Nanoseconds per received row on a rank with many rows: the time of the layer divided by the rank's rows.
    pub row_ns: u64,
    /// Nanoseconds to read one expert's weights from memory, once per launch for each physical expert with rows. 0
    /// ignores the reads.
    pub read_ns: u64,
    /// Nanoseconds to copy one expert's weights from another rank.
    pub copy_ns: u64,
}

/// The work of a rank in a number of launches.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Work {
    /// Number of rows, in parts of [`WHOLE`].
    rows: u128,
    /// Number of weight matrices read, in parts of [`WHOLE`].
    reads: u128,
}

impl Work {
    /// Adds the work of a physical expert that takes `share` parts of [`WHOLE`] of `rows` rows, in `launches` launches.
    pub(super) fn add(&mut self, rows: u64, share: u32, launches: u64) {
        let (rows, reads) = expert(rows, share, launches);
        self.rows += rows;
        self.reads += reads;
    }

    /// Removes work that [`add`](Self::add) has added.
    pub(super) fn take(&mut self, rows: u64, share: u32, launches: u64) {
        let (rows, reads) = expert(rows, share, launches);
        self.rows -= rows;
        self.reads -= reads;
    }

    /// Time of the work in nanoseconds, in parts of [`WHOLE`].
    pub(super) fn time(&self, costs: &PlacementCosts) -> u128 {
        self.rows.saturating_mul(costs.row_ns.into()).max(self.reads.saturating_mul(costs.read_ns.into()))
    }
}

/// Rows and weight reads of a physical expert. Its weights are read at most once per launch, and at most once per row.
fn expert(rows: u64, share: u32, launches: u64) -> (u128, u128) {
    let rows = u128::from(rows) * u128::from(share);
    (rows, rows.min(u128::from(launches) * u128::from(WHOLE)))
}

/// The time of the slowest rank in nanoseconds.
pub(super) fn slowest(of_rank: &[Work], costs: &PlacementCosts) -> u64 {
    let most = of_rank.iter().map(|work| work.time(costs)).max().unwrap_or(0);
    u64::try_from(most / u128::from(WHOLE)).unwrap_or(u64::MAX)
}
