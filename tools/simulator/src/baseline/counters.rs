//! The original's counters ("events"): their numbers and thresholds.

use super::sizes::{AIV_CORES, CUBE_CORES, ROWS};
use super::{Direction, LayerShape};

/// The number of a counter of the original. Every rank has an array of counters. Counter 0 is always ready.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct OriginalCounter(pub u32);

/// The numbers and thresholds of all counters of a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OriginalCounters {
    shape: LayerShape,
    direction: Direction,
}

impl OriginalCounter {
    /// The counter of tasks that wait for nothing, which is always ready.
    pub const READY: Self = Self(0);
}

impl OriginalCounters {
    pub(super) const fn new(shape: LayerShape, direction: Direction) -> Self {
        Self { shape, direction }
    }
    pub(super) const fn shape(&self) -> &LayerShape {
        &self.shape
    }
    /// The counter, at the owner, of the rows that have arrived for expert `expert` of the group.
    #[must_use]
    pub const fn arrived(&self, expert: u32) -> OriginalCounter {
        OriginalCounter(1 + expert)
    }
    /// The counter of a local expert's first product.
    #[must_use]
    pub const fn first_product(&self, expert: u32) -> OriginalCounter {
        OriginalCounter(1 + self.shape.experts + expert)
    }
    /// The counter of a local expert's vector operator, which lies between its two products.
    #[must_use]
    pub const fn vector(&self, expert: u32) -> OriginalCounter {
        OriginalCounter(self.first_product(expert).0 + self.shape.experts_per_rank())
    }
    /// The counter of a local expert's last product, after which the combine sends its rows.
    #[must_use]
    pub const fn last_product(&self, expert: u32) -> OriginalCounter {
        OriginalCounter(self.vector(expert).0 + self.shape.experts_per_rank())
    }
    /// The counter that the last operators signal: those whose results stay on this rank.
    #[must_use]
    pub const fn last(&self) -> OriginalCounter {
        OriginalCounter(self.last_product(0).0 + self.shape.experts_per_rank())
    }
    /// The counter of the last task.
    #[must_use]
    pub const fn terminated(&self) -> OriginalCounter {
        OriginalCounter(self.last().0 + 1)
    }
    /// The counter of the barrier between all ranks at the start.
    #[must_use]
    pub const fn handshake(&self) -> OriginalCounter {
        OriginalCounter(self.last().0 + 3)
    }
    /// The counter of the barrier between all AIVs of a rank.
    #[must_use]
    pub const fn met(&self) -> OriginalCounter {
        OriginalCounter(self.handshake().0 + 8)
    }
    /// Maximum number of tiles that one rank can send to one expert. An expert's buffer has room for every token of
    /// every rank.
    pub(super) const fn tiles_per_source(&self) -> u32 {
        self.shape.tokens.div_ceil(ROWS)
    }
    /// The threshold of [`Self::arrived`] and [`Self::vector`]: each tile signals once.
    #[must_use]
    pub const fn tiles(&self) -> u32 {
        self.shape.ranks * self.tiles_per_source()
    }
    /// The threshold of the counters of products: each matrix core signals once.
    #[must_use]
    pub const fn cores(&self) -> u32 {
        CUBE_CORES
    }
    /// The threshold of [`Self::last`]: one signal per tile of results and, in the backward direction, one per core for
    /// both weight gradients of each expert.
    #[must_use]
    pub const fn last_signals(&self) -> u32 {
        let gradients = match self.direction {
            Direction::Forward => 0,
            Direction::Backward => 2 * CUBE_CORES * self.shape.experts_per_rank(),
        };
        self.shape.experts * self.tiles_per_source() + gradients
    }
    /// All counters with their thresholds, in ascending order.
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
