//! The numbers of readiness counters on a rank.

use super::{Grid, RankSizes, SpaceTable};
use crate::abi::HPMOE_ONCE_TILES;

/// Numbers of the counters within a set. A rank has two sets, and launches alternate between them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CounterNumbers {
    /// For each array of counters, the number of its first counter.
    pub bases: Vec<u32>,
    /// Number of counters in a set; `u32::MAX` if they are too many to be numbered.
    pub count: u32,
}

impl CounterNumbers {
    /// Assigns numbers to the counters of all `arrays`, one array after the other.
    #[must_use]
    pub fn new(arrays: &[Grid], spaces: &[SpaceTable], sizes: &RankSizes) -> Self {
        let mut count = 0_u32;
        let bases = arrays
            .iter()
            .map(|&grid| {
                let base = count;
                count = count.saturating_add(length(grid, spaces, sizes));
                base
            })
            .collect();
        Self { bases, count }
    }

    /// Whether 32 bits are enough to number all counters.
    #[must_use]
    pub const fn can_be_numbered(&self) -> bool {
        self.count < u32::MAX
    }
}

/// Number of counters of an array that is enough for all launches.
fn length(grid: Grid, spaces: &[SpaceTable], sizes: &RankSizes) -> u32 {
    let of_launches = sizes.of_launches().map(|sizes| length_of_launch(grid, spaces, &sizes));
    of_launches.max().map_or(0, |length| u32::try_from(length).unwrap_or(u32::MAX))
}

/// Number of counters of an array in launches of one number of chunks. Each chunk has its own counters. A rank has at most `capacity /
/// height` full row tiles, and a short one per expert.
fn length_of_launch(grid: Grid, spaces: &[SpaceTable], sizes: &RankSizes) -> usize {
    let length = match grid {
        Grid::RowTiles { space, columns } => {
            let SpaceTable { kind, height } = spaces[space as usize];
            let rows = if kind == HPMOE_ONCE_TILES { sizes.capacity_once() } else { sizes.capacity };
            (rows / height as usize).saturating_add(sizes.local_experts).saturating_mul(columns as usize)
        }
        Grid::Experts => sizes.local_experts,
        Grid::Blocks { height } => sizes.blocks(height),
        Grid::Rank => 1,
    };
    length.saturating_mul(sizes.chunks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::HPMOE_ROW_TILES;

    #[test]
    fn arrays_follow_each_other() {
        let spaces = [SpaceTable { kind: HPMOE_ROW_TILES, height: 32 }];
        let arrays = [Grid::RowTiles { space: 0, columns: 2 }, Grid::Experts, Grid::Blocks { height: 16 }, Grid::Rank];
        let sizes = RankSizes {
            ranks: 2,
            experts: 8,
            local_experts: 4,
            top_k: 2,
            chunks: 1,
            chunks_at_most: None,
            counts_parts: false,
            tokens: 100,
            chunk_tokens: 100,
            token_rows: 2,
            capacity: 400,
            processes: false,
        };
        let counters = CounterNumbers::new(&arrays, &spaces, &sizes);
        assert_eq!(counters.bases, [0, 32, 36, 43]);
        assert_eq!(counters.count, 44);
        assert!(counters.can_be_numbered());
        let chunked = CounterNumbers::new(&arrays, &spaces, &RankSizes { tokens: 300, ..sizes }.in_chunks(3));
        assert_eq!((&chunked.bases[..], chunked.count), (&[0, 96, 108, 129][..], 132));
        // Rows that are sent once are no more than there are tokens.
        let once = |capacity| {
            let spaces = [SpaceTable { kind: HPMOE_ONCE_TILES, height: 8 }];
            let sizes = RankSizes { tokens: 12, capacity, ..sizes }.in_chunks(3);
            CounterNumbers::new(&[Grid::RowTiles { space: 0, columns: 2 }], &spaces, &sizes).count
        };
        assert_eq!((once(100), once(5)), (3 * 2 * (1 + 4), 3 * 2 * 4));
        let endless = CounterNumbers::new(&arrays, &spaces, &RankSizes { capacity: usize::MAX, ..sizes });
        assert!(!endless.can_be_numbered());
    }
}
