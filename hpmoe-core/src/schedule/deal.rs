//! The deal: the assignment of tiles to cores.

/// Assignment of a phase's tiles to the cores that share its queue. The device library has the same formula.
///
/// Tiles are numbered across groups, roughly in the order of queues. Each round has one tile for each core, and each round shifts the
/// assignment by `rotation`. Without a rotation, a core gets the same position in every round. If the number of cores is a multiple of an
/// item's columns, the same cores then always get the narrow last column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Deal {
    /// Number of cores that share the queue.
    pub cores: u64,
    /// Shift of each round against the previous one, in cores; less than `cores`.
    pub rotation: u64,
}

impl Deal {
    /// The core that makes a tile.
    ///
    /// ```
    /// use hpmoe_core::schedule::Deal;
    ///
    /// let cores = |rotation| [0, 1, 2, 3, 4, 5, 6, 7].map(|tile| Deal { cores: 3, rotation }.core(tile));
    /// assert_eq!(cores(0), [0, 1, 2, 0, 1, 2, 0, 1]);
    /// assert_eq!(cores(1), [0, 1, 2, 1, 2, 0, 2, 0]);
    /// ```
    #[must_use]
    pub const fn core(self, tile: u64) -> u64 {
        (tile + tile / self.cores % self.cores * self.rotation) % self.cores
    }

    /// The cores of consecutive tiles, starting with this one.
    pub(super) const fn cores_from(self, tile: u64) -> CoresOfTiles {
        CoresOfTiles { deal: self, core: self.core(tile), left: self.cores - tile % self.cores }
    }

    /// The first tile that belongs to a core, among tiles numbered `from` or higher.
    #[must_use]
    pub const fn first(self, core: u64, from: u64) -> u64 {
        let round = from / self.cores;
        let place = (core + self.cores - round % self.cores * self.rotation % self.cores) % self.cores;
        let tile = round * self.cores + place;
        if tile < from { self.next(tile) } else { tile }
    }

    /// The tile that the core of `tile` makes in the next round.
    #[must_use]
    pub const fn next(self, tile: u64) -> u64 {
        let wraps = tile % self.cores < self.rotation;
        tile + self.cores - self.rotation + if wraps { self.cores } else { 0 }
    }
}

/// The cores of consecutive tiles.
///
/// Plain sums, because build scripts run this unoptimised for each tile of each estimate.
pub(super) struct CoresOfTiles {
    deal: Deal,
    /// The core of the next tile.
    core: u64,
    /// Number of tiles that are left in the round.
    left: u64,
}

impl CoresOfTiles {
    /// Returns the core of the next tile, and moves on by one tile.
    pub(super) const fn next(&mut self) -> usize {
        let now = self.core;
        self.core += 1;
        self.left -= 1;
        if self.left == 0 {
            self.left = self.deal.cores;
            self.core += self.deal.rotation;
        }
        while self.core >= self.deal.cores {
            self.core -= self.deal.cores;
        }
        now as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_core_finds_its_tiles_and_no_others(cores in 1u64..50, rotation in 0u64..50, from in 0u64..10_000, len in 0u64..300) {
            let deal = Deal { cores, rotation: rotation % cores };
            let mut cores_of_tiles = deal.cores_from(from);
            prop_assert!((from..from + len).all(|tile| cores_of_tiles.next() as u64 == deal.core(tile)));
            let mut dealt = vec![None; len as usize];
            for core in 0..cores {
                let mut tile = deal.first(core, from);
                while tile < from + len {
                    prop_assert_eq!(deal.core(tile), core);
                    prop_assert_eq!(dealt[(tile - from) as usize].replace(core), None);
                    let next = deal.next(tile);
                    prop_assert_eq!(next / cores, tile / cores + 1);
                    tile = next;
                }
            }
            prop_assert!(dealt.iter().all(Option::is_some));
        }
    }
}
