//! The order of the tiles of an entry: bands of rows, each walked column by column.

/// Order of the tiles of one entry. The device library has the same formula.
///
/// With a band of 6 on 24 cores, the 24 tiles that run at the same time are 6 rows of 4: they share 6 row panels and 4 column panels in L2.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Swizzle {
    /// Number of items (rows of tiles).
    pub items: u64,
    /// Number of tiles per item.
    pub columns: u64,
    /// Number of items that are walked together; the last band may have fewer.
    pub band: u64,
}

impl Swizzle {
    /// Number of tiles of the entry.
    #[must_use]
    pub const fn tiles(self) -> u64 {
        self.items * self.columns
    }

    /// The item and the column of a tile, whose number must be less than `tiles()`.
    ///
    /// ```
    /// use hpmoe_core::schedule::Swizzle;
    ///
    /// let swizzle = Swizzle { items: 5, columns: 3, band: 2 };
    /// let order: Vec<_> = (0..6).map(|tile| swizzle.place(tile)).collect();
    /// assert_eq!(order, [(0, 0), (1, 0), (0, 1), (1, 1), (0, 2), (1, 2)]);
    /// ```
    #[must_use]
    pub const fn place(self, tile: u64) -> (u64, u64) {
        let band = tile / (self.band * self.columns);
        let inside = tile - band * self.band * self.columns;
        let rows = self.rows_of(band);
        (band * self.band + inside % rows, inside / rows)
    }

    /// Calls a function with the item and the column of each tile, in the order of their numbers.
    ///
    /// Plain loops, because build scripts run this unoptimised for each tile of each estimate.
    pub(super) fn for_each_place(self, mut visit: impl FnMut(u64, u64)) {
        let mut first = 0;
        while first < self.items {
            let end = self.items.min(first + self.band);
            let mut column = 0;
            while column < self.columns {
                let mut item = first;
                while item < end {
                    visit(item, column);
                    item += 1;
                }
                column += 1;
            }
            first = end;
        }
    }

    /// The number of the tile at an item and a column.
    #[must_use]
    pub const fn tile(self, item: u64, column: u64) -> u64 {
        let band = item / self.band;
        band * self.band * self.columns + column * self.rows_of(band) + item % self.band
    }

    /// Number of items in a band.
    const fn rows_of(self, band: u64) -> u64 {
        let left = self.items - band * self.band;
        if left < self.band { left } else { self.band }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_place_has_one_tile(items in 0u64..40, columns in 1u64..12, band in 1u64..9) {
            let swizzle = Swizzle { items, columns, band };
            let mut seen = vec![false; swizzle.tiles() as usize];
            for tile in 0..swizzle.tiles() {
                let (item, column) = swizzle.place(tile);
                prop_assert!(item < items && column < columns);
                prop_assert_eq!(swizzle.tile(item, column), tile);
                let seen = &mut seen[(item * columns + column) as usize];
                prop_assert!(!std::mem::replace(seen, true));
            }
            let mut places = Vec::new();
            swizzle.for_each_place(|item, column| places.push((item, column)));
            prop_assert!(places.into_iter().eq((0..swizzle.tiles()).map(|tile| swizzle.place(tile))));
        }
    }

    #[test]
    fn a_band_of_one_walks_item_by_item() {
        let swizzle = Swizzle { items: 3, columns: 4, band: 1 };
        for tile in 0..12 {
            assert_eq!(swizzle.place(tile), (tile / 4, tile % 4));
        }
    }
}
