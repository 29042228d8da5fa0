//! The published latencies.

use crate::baseline::Direction;

/// The policy of a published latency.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum PublishedPolicy {
    /// One operator after another.
    Serial,
    /// HyperParallel-MoE, the original system.
    Original,
}

/// A published latency of one layer, from the start of dispatch to the end of combine.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Published {
    /// Number of ranks in the group.
    pub ranks: u32,
    /// The pass of the layer.
    pub direction: Direction,
    /// The policy that was measured.
    pub policy: PublishedPolicy,
    /// The latency in milliseconds.
    pub ms: f64,
}

/// The published latencies, measured on Ascend A3 (arXiv 2605.23764), of the DeepSeek-V3 layer with 4,096 tokens and 8 experts per rank and
/// balanced routing.
pub const PUBLISHED: [Published; 12] = [
    serial(4, Direction::Forward, 16.3),
    original(4, Direction::Forward, 10.2),
    serial(4, Direction::Backward, 27.9),
    original(4, Direction::Backward, 19.4),
    serial(8, Direction::Forward, 17.3),
    original(8, Direction::Forward, 10.3),
    serial(8, Direction::Backward, 29.8),
    original(8, Direction::Backward, 19.6),
    serial(16, Direction::Forward, 18.4),
    original(16, Direction::Forward, 11.2),
    serial(16, Direction::Backward, 30.5),
    original(16, Direction::Backward, 19.9),
];

const fn serial(ranks: u32, direction: Direction, ms: f64) -> Published {
    Published { ranks, direction, policy: PublishedPolicy::Serial, ms }
}

const fn original(ranks: u32, direction: Direction, ms: f64) -> Published {
    Published { ranks, direction, policy: PublishedPolicy::Original, ms }
}

impl PublishedPolicy {
    /// The policy's name on the command line and in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Serial => "serial",
            Self::Original => "hyperparallel",
        }
    }
}

impl Published {
    /// Whether constants are fitted to this latency.
    #[must_use]
    pub const fn fitted_on(&self) -> bool {
        self.ranks == 8
    }
}
