//! The original's counters ("events"): which numbers they have and what they must reach.

use super::original::{AIV_CORES, CUBE_CORES, ROWS};
use super::{Direction, LayerShape};

/// A counter of the original: on every rank one word of an array. Number 0 is always ready.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct OriginalCounter(pub u32);

/// The numbers and thresholds of all counters of a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OriginalCounters {
    shape: LayerShape,
    direction: Direction,
}

impl OriginalCounter {
    /// Never waited for.
    pub const READY: Self = Self(0);
}

impl OriginalCounters {
    pub(super) const fn new(shape: LayerShape, direction: Direction) -> Self {
        Self { shape, direction }
    }
    pub(super) const fn shape(&self) -> &LayerShape {
        &self.shape
    }
    /// Rows of a global expert have arrived at its owner.
    #[must_use]
    pub const fn arrived(&self, expert: u32) -> OriginalCounter {
        OriginalCounter(1 + expert)
    }
    /// The first product of a rank's own expert is complete.
    #[must_use]
    pub const fn first_product(&self, expert: u32) -> OriginalCounter {
        OriginalCounter(1 + self.shape.experts + expert)
    }
    /// The vector operator between the products is complete for a rank's own expert.
    #[must_use]
    pub const fn vector(&self, expert: u32) -> OriginalCounter {
        OriginalCounter(self.first_product(expert).0 + self.shape.experts_per_rank())
    }
    /// The product before the combine is complete for a rank's own expert.
    #[must_use]
    pub const fn last_product(&self, expert: u32) -> OriginalCounter {
        OriginalCounter(self.vector(expert).0 + self.shape.experts_per_rank())
    }
    /// Everything that ends at this rank.
    #[must_use]
    pub const fn last(&self) -> OriginalCounter {
        OriginalCounter(self.last_product(0).0 + self.shape.experts_per_rank())
    }
    /// The last task has run.
    #[must_use]
    pub const fn terminated(&self) -> OriginalCounter {
        OriginalCounter(self.last().0 + 1)
    }
    /// All ranks have begun.
    #[must_use]
    pub const fn handshake(&self) -> OriginalCounter {
        OriginalCounter(self.last().0 + 3)
    }
    /// All AIVs of the rank have met.
    #[must_use]
    pub const fn met(&self) -> OriginalCounter {
        OriginalCounter(self.handshake().0 + 8)
    }
    /// Tiles one rank may send to one expert: its buffer holds every token of every rank.
    pub(super) const fn tiles_per_source(&self) -> u32 {
        self.shape.tokens.div_ceil(ROWS)
    }
    /// Signals that complete [`Self::arrived`] and [`Self::vector`]: a tile each.
    #[must_use]
    pub const fn tiles(&self) -> u32 {
        self.shape.ranks * self.tiles_per_source()
    }
    /// Signals that complete a product: one a core.
    #[must_use]
    pub const fn cores(&self) -> u32 {
        CUBE_CORES
    }
    /// Signals that complete [`Self::last`]: all results, and in the backward direction both weight gradients.
    #[must_use]
    pub const fn last_signals(&self) -> u32 {
        let gradients = match self.direction {
            Direction::Forward => 0,
            Direction::Backward => 2 * CUBE_CORES * self.shape.experts_per_rank(),
        };
        self.shape.experts * self.tiles_per_source() + gradients
    }
    /// All counters with the value that completes them, ascending.
    #[must_use]
    pub fn all(&self) -> Vec<(OriginalCounter, u32)> {
        let own = 0..self.shape.experts_per_rank();
        let mut all: Vec<_> = (0..self.shape.experts).map(|e| (self.arrived(e), self.tiles())).collect();
        all.extend(own.clone().map(|e| (self.first_product(e), self.cores())));
        all.extend(own.clone().map(|e| (self.vector(e), self.tiles())));
        all.extend(own.map(|e| (self.last_product(e), self.cores())));
        all.extend([
            (self.last(), self.last_signals()),
            (self.terminated(), 1),
            (self.handshake(), 1),
            (self.met(), AIV_CORES),
        ]);
        all
    }
}
