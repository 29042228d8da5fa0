//! How physical experts share the rows of their logical expert.
//!
//! A source has n rows for a logical expert. Row i goes to the physical expert whose cut `from..to`, in parts of 4096,
//! satisfies (n · from + t) / 4096 ≤ i < (n · to + t) / 4096, rounded down. The offset t < 4096 (the source's turn)
//! differs between sources, so that rounding favours a different physical expert on each source. Every row goes
//! somewhere, because the first cut begins at 0 and the last one ends at 4096.
//!
//! If a launch chooses its number of chunks, a source cuts each part of its tokens in this way, with a different turn for each part.
//! The rows of a chunk are the sums over its parts.
//!
//! This costs a multiplication, an addition and a shift per count, and no source needs another source's counts.

use std::ops::Range;

/// Number of parts that all rows of a logical expert are divided into.
pub(super) const WHOLE: u32 = 1 << 12;

/// The range of parts that a physical expert takes, out of [`WHOLE`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Cut {
    pub(super) from: u32,
    pub(super) to: u32,
}

impl Cut {
    /// The cut that takes all rows (`true`) or no row (`false`).
    pub(super) const fn of(all: bool) -> Self {
        Self { from: 0, to: if all { WHOLE } else { 0 } }
    }

    pub(super) const fn range(self) -> Range<u32> {
        self.from..self.to
    }

    /// The range of `rows` rows that this cut takes, for a source with the turn `turn`.
    pub(super) fn rows(self, turn: u32, rows: usize) -> Range<usize> {
        cut(self.from, turn, rows)..cut(self.to, turn, rows)
    }
}

fn cut(at: u32, turn: u32, rows: usize) -> usize {
    ((rows as u64 * at as u64 + turn as u64) / WHOLE as u64) as usize
}

/// The turn for one part of a source's tokens. The turns of consecutive parts are spread like those of sources.
pub(super) fn turn_of_part(source: usize, part: usize) -> u32 {
    (turn(source) + turn(part)) % WHOLE
}

/// The turn of a source: its number with reversed bits. For any n, the turns of the first n sources are spread evenly over [`WHOLE`].
pub(super) fn turn(source: usize) -> u32 {
    (source as u32 % WHOLE).reverse_bits() >> (u32::BITS - WHOLE.trailing_zeros())
}
