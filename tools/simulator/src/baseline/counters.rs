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
    /// The counter that counts the put tasks whose rows have arrived for expert `expert` (its number in the group). It is the counter of
    /// that number on the expert's owner.
    #[must_use]
    pub const fn arrived(&self, expert: u32) -> OriginalCounter {
        OriginalCounter(1 + expert)
    }
    /// The counter of a local expert's first product, which is the up projection or the gradient of the activation. Each of the product's cores
    /// adds 1 to it.
    #[must_use]
    pub const fn first_product(&self, expert: u32) -> OriginalCounter {
        OriginalCounter(1 + self.shape.experts + expert)
    }
    /// The counter that the tasks of a local expert's vector operator, which runs between its two products, add 1 to.
    #[must_use]
    pub const fn vector(&self, expert: u32) -> OriginalCounter {
        OriginalCounter(self.first_product(expert).0 + self.shape.experts_per_rank())
    }
    /// The counter that the cores of a local expert's last product add 1 to; the combine sends the expert's rows after that.
    #[must_use]
    pub const fn last_product(&self, expert: u32) -> OriginalCounter {
        OriginalCounter(self.vector(expert).0 + self.shape.experts_per_rank())
    }
    /// The counter that shows that all results of a rank are complete. Each rank's combine adds 1 to this counter on the rank that it puts
    /// rows to; weight gradients add 1 on their own rank.
    #[must_use]
    pub const fn last(&self) -> OriginalCounter {
        OriginalCounter(self.last_product(0).0 + self.shape.experts_per_rank())
    }
    /// The counter that the last task ([`Operator::Terminate`](super::Operator::Terminate)) adds 1 to.
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
    /// The threshold of [`Self::arrived`] and [`Self::vector`]: the maximum number of tiles of 128 rows that one expert can receive, each
    /// of which adds 1.
    #[must_use]
    pub const fn tiles(&self) -> u32 {
        self.shape.ranks * self.tiles_per_source()
    }
    /// The threshold of [`Self::first_product`] and [`Self::last_product`]: each of the 24 matrix cores adds 1.
    #[must_use]
    pub const fn cores(&self) -> u32 {
        CUBE_CORES
    }
    /// The threshold of [`Self::last`]: 1 per tile of results that the rank can receive and, in the backward direction, 1 per matrix core
    /// for each of the two weight gradients of each local expert.
    #[must_use]
    pub const fn last_signals(&self) -> u32 {
        let gradients = match self.direction {
            Direction::Forward => 0,
            Direction::Backward => 2 * CUBE_CORES * self.shape.experts_per_rank(),
        };
        self.shape.experts * self.tiles_per_source() + gradients
    }
    /// All counters except [`OriginalCounter::READY`] with their thresholds, in ascending order of their numbers.
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
