//! The tasks of one rank.

use super::sizes::{CUBE_CORES, ROWS};
use super::{Direction, LayerShape, Operator, OperatorKind, OriginalCounter, OriginalCounters};

/// A task of the original. It waits for one counter, works, and adds 1 to one counter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OriginalTask {
    /// The operator that the task is a part of.
    pub operator: Operator,
    /// The task's number among the tasks of its operator.
    pub index: u32,
    /// The counter that the task waits for, on its own rank.
    pub waits: OriginalCounter,
    /// The value of the counter `waits` at which the wait ends; 0 if the task waits for nothing.
    pub threshold: u32,
    /// The counter that the task adds 1 to, on rank `signals_at`.
    pub signals: OriginalCounter,
    /// The rank whose counter the task adds 1 to.
    pub signals_at: u32,
    /// The task's work, at its maximum extents.
    pub work: OriginalWork,
}

/// The work of a task of the original. The rows of the work are a fixed range; in a launch, only those below the actual number of rows are
/// real.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OriginalWork {
    /// Puts at most 128 rows of one expert to one rank: to the expert's owner, or back to the rank of their tokens.
    Put {
        /// The rank that the rows are put to, which can be the task's own rank.
        peer: u32,
        /// Number of the expert among the experts of its owner.
        expert: u32,
        /// Number of the expert among all experts of the group.
        global: u32,
        /// Number of the tile of 128 rows that the task puts, among the rows that the two ranks exchange for the expert: tile t has rows
        /// 128 t to 128 t + 127.
        tile: u32,
    },
    /// Elementwise work on at most 128 rows of one local expert.
    Vector {
        /// The local expert.
        expert: u32,
        /// Number of the tile of 128 rows that the task works on: tile t has rows 128 t to 128 t + 127 of the expert.
        tile: u32,
    },
    /// A matrix core's share of the product of one local expert: every 24th base tile.
    Product {
        /// The local expert.
        expert: u32,
        /// Number of the core among the 24 matrix cores. The share begins with the base tile of this number.
        core: u32,
    },
    /// No work: the task only waits.
    Terminate,
}

impl OriginalWork {
    /// The range of rows, as (first row, end); the end is exclusive, and `None` if the task covers all rows of the expert. The result is
    /// `None` for [`OriginalWork::Terminate`].
    #[must_use]
    pub const fn rows(&self) -> Option<(u32, Option<u32>)> {
        match *self {
            Self::Put { tile, .. } | Self::Vector { tile, .. } => Some((tile * ROWS, Some((tile + 1) * ROWS))),
            Self::Product { .. } => Some((0, None)),
            Self::Terminate => None,
        }
    }
}

/// Builds the tasks of one rank.
pub(super) struct TaskBuilder {
    pub(super) shape: LayerShape,
    pub(super) direction: Direction,
    pub(super) counters: OriginalCounters,
    pub(super) rank: u32,
}

impl TaskBuilder {
    /// Task number `index` of an operator.
    pub(super) fn task(&self, operator: Operator, index: u32) -> OriginalTask {
        let counters = &self.counters;
        let work = self.work(operator, index);
        let own = match work {
            OriginalWork::Put { expert, .. }
            | OriginalWork::Vector { expert, .. }
            | OriginalWork::Product { expert, .. } => expert,
            OriginalWork::Terminate => 0,
        };
        let arrived = counters.arrived(self.rank * self.shape.experts_per_rank() + own);
        let (waits, threshold) = match operator {
            Operator::Dispatch => (OriginalCounter::READY, 0),
            Operator::UpProj | Operator::ActGrad | Operator::W2Grad => (arrived, counters.tiles()),
            Operator::SwiGlu | Operator::SwiGluGrad => (counters.first_product(own), counters.cores()),
            Operator::DownProj | Operator::GateGrad => (counters.vector(own), counters.tiles()),
            Operator::Combine | Operator::W1Grad => (counters.last_product(own), counters.cores()),
            Operator::Terminate => (counters.last(), counters.last_signals()),
        };
        let signals = match (operator, work) {
            (Operator::Dispatch, OriginalWork::Put { global, .. }) => counters.arrived(global),
            (Operator::UpProj | Operator::ActGrad, _) => counters.first_product(own),
            (Operator::SwiGlu | Operator::SwiGluGrad, _) => counters.vector(own),
            (Operator::DownProj | Operator::GateGrad, _) => counters.last_product(own),
            (Operator::Terminate, _) => counters.terminated(),
            _ => counters.last(),
        };
        let signals_at = if let OriginalWork::Put { peer, .. } = work { peer } else { self.rank };
        OriginalTask { operator, index, waits, threshold, signals, signals_at, work }
    }

    fn work(&self, operator: Operator, index: u32) -> OriginalWork {
        let own = self.shape.experts_per_rank();
        match operator.kind(&self.shape) {
            OperatorKind::Put => {
                let tiles = self.counters.tiles_per_source();
                let (pair, tile) = (index / tiles, index % tiles);
                let (peer, expert) = (pair / own, pair % own);
                let owner = if operator == Operator::Dispatch { peer } else { self.rank };
                OriginalWork::Put { peer, expert, global: owner * own + expert, tile }
            }
            OperatorKind::Vector => {
                let tiles = self.counters.tiles();
                OriginalWork::Vector { expert: index / tiles, tile: index % tiles }
            }
            OperatorKind::Product(_) => OriginalWork::Product { expert: index / CUBE_CORES, core: index % CUBE_CORES },
            OperatorKind::Terminate => OriginalWork::Terminate,
        }
    }

    /// All tasks, in the order of their numbers.
    pub(super) fn tasks(&self) -> Vec<OriginalTask> {
        let listed = Operator::all(self.direction).iter().copied();
        listed
            .chain([Operator::Terminate])
            .flat_map(|operator| (0..self.counters.count(operator)).map(move |index| self.task(operator, index)))
            .collect()
    }
}

impl OriginalCounters {
    /// Number of an operator's tasks on one rank, including empty ones.
    pub(super) fn count(&self, operator: Operator) -> u32 {
        let shape = self.shape();
        match operator.kind(shape) {
            OperatorKind::Put => shape.experts * self.tiles_per_source(),
            OperatorKind::Vector => shape.experts_per_rank() * self.tiles(),
            OperatorKind::Product(_) => shape.experts_per_rank() * CUBE_CORES,
            OperatorKind::Terminate => 1,
        }
    }
}
