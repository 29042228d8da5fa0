//! The maximum number of rows of a tile: one type from a loop's head to the cost model.

use hpmoe_kernels::RAGGED;
use std::fmt;

/// The maximum number of rows of a tile: a number, or all rows of an expert.
///
/// `lower/loops.rs` makes a height from the number in a loop's head, such as `TILE_M` in `route.row_tiles::<TILE_M>(e)`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Height {
    /// The maximum number of consecutive rows; at least 1.
    Rows(u32),
    /// All rows of an expert; written [`RAGGED`] in source and in the device's tables.
    WholeExpert,
}

impl Height {
    /// The height that a number of rows in source stands for: [`RAGGED`] stands for all rows of an expert.
    ///
    /// # Panics
    ///
    /// If `rows` is 2^32 or more, which the front end refuses.
    #[must_use]
    pub fn from_source(rows: usize) -> Self {
        match rows {
            RAGGED => Self::WholeExpert,
            rows => Self::Rows(u32::try_from(rows).expect("a tile has fewer than 2^32 rows")),
        }
    }

    /// The number that stands for the height in source and in the device's tables: the maximum number of rows, or [`RAGGED`] for all rows
    /// of an expert. No expert has [`RAGGED`] rows.
    #[must_use]
    pub const fn number(self) -> u32 {
        match self {
            Self::Rows(rows) => rows,
            Self::WholeExpert => RAGGED as u32,
        }
    }

    /// The number of tiles of this height for an expert with `rows` rows.
    #[must_use]
    pub fn tiles(self, rows: u64) -> u64 {
        rows.div_ceil(u64::from(self.number()))
    }

    /// Whether each tile of height `other` lies inside one tile of height `self`.
    #[must_use]
    pub const fn holds(self, other: Self) -> bool {
        match (self, other) {
            (Self::WholeExpert, _) => true,
            (Self::Rows(large), Self::Rows(small)) => large % small == 0,
            (Self::Rows(_), Self::WholeExpert) => false,
        }
    }

    /// The larger of the two heights, if each tile of the smaller height lies inside one tile of the larger height; otherwise `None`.
    #[must_use]
    pub fn common(self, other: Self) -> Option<Self> {
        let (large, small) = (self.max(other), self.min(other));
        large.holds(small).then_some(large)
    }
}

impl fmt::Display for Height {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rows(rows) => write!(f, "{rows}"),
            Self::WholeExpert => f.write_str("a whole expert"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Height::{Rows, WholeExpert};
    use super::*;

    #[test]
    fn heights_hold_what_divides_them_and_experts_hold_all() {
        assert_eq!(Rows(96).common(Rows(32)), Some(Rows(96)));
        assert_eq!(Rows(96).common(Rows(64)), None);
        assert_eq!(Rows(96).common(WholeExpert), Some(WholeExpert));
        assert!(!Rows(96).holds(WholeExpert));
        assert_eq!((WholeExpert.tiles(0), WholeExpert.tiles(100_000), Rows(32).tiles(33)), (0, 1, 2));
    }

    #[test]
    fn source_and_tables_have_one_number() {
        assert_eq!(Height::from_source(RAGGED), WholeExpert);
        assert_eq!(Height::from_source(WholeExpert.number() as usize), WholeExpert);
        assert_eq!(Height::from_source(7).number(), 7);
    }
}
