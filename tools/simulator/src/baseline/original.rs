//! The original's program for one shape and direction.

use super::task::TaskBuilder;
use super::{Direction, LayerShape, Limit, Operator, OriginalCounters, OriginalTask, Queues};
use hpmoe_core::schedule::CoreKind;

/// Rows of a put or a vector task.
pub(super) const ROWS: u32 = 128;
/// Matrix cores that share a product.
pub(super) const CUBE_CORES: u32 = 24;
/// Vector cores that take tasks.
pub(super) const AIV_WORKERS: u32 = 24;
/// Vector cores of a die.
pub(super) const AIV_CORES: u32 = 48;

/// The program of HyperParallel-MoE. Its tasks are those of the worst routing; with a balanced one most are empty.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Original {
    shape: LayerShape,
    direction: Direction,
}

/// An operator and its range in the list of tasks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Listed {
    /// The operator itself.
    pub operator: Operator,
    /// The number of its first task.
    pub first: u32,
    /// The number of its tasks.
    pub tasks: u32,
}

impl Original {
    /// The program for a layer, even for one that the original would refuse: see [`Self::limits`].
    #[must_use]
    pub const fn new(shape: LayerShape, direction: Direction) -> Self {
        Self { shape, direction }
    }
    /// The layer that it was built for.
    #[must_use]
    pub const fn shape(&self) -> &LayerShape {
        &self.shape
    }
    /// The pass that it runs.
    #[must_use]
    pub const fn direction(&self) -> Direction {
        self.direction
    }
    /// Cores of a rank that take tasks: all matrix cores and half of the vector cores.
    #[must_use]
    pub const fn workers(&self, core: CoreKind) -> u32 {
        match core {
            CoreKind::Aic => CUBE_CORES,
            CoreKind::Aiv => AIV_WORKERS,
        }
    }
    /// The numbers and thresholds of its counters.
    #[must_use]
    pub const fn counters(&self) -> OriginalCounters {
        OriginalCounters::new(self.shape, self.direction)
    }
    /// Operators in the order of their task numbers, without the last task.
    #[must_use]
    pub fn operators(&self) -> Vec<Listed> {
        let mut first = 0;
        let listed = |&operator: &Operator| {
            let tasks = self.counters().count(operator);
            first += tasks;
            Listed { operator, first: first - tasks, tasks }
        };
        Operator::all(self.direction).iter().map(listed).collect()
    }
    /// The number of tasks of a rank, the last one included.
    #[must_use]
    pub fn tasks_per_rank(&self) -> u32 {
        self.operators().iter().map(|listed| listed.tasks).sum::<u32>() + 1
    }
    /// The tasks of a rank, in the order of their numbers.
    #[must_use]
    pub fn tasks(&self, rank: u32) -> Vec<OriginalTask> {
        TaskBuilder { shape: self.shape, direction: self.direction, counters: self.counters(), rank }.tasks()
    }
    /// The queues of a rank.
    #[must_use]
    pub fn queues(&self, rank: u32) -> Queues {
        Queues::new(self, rank)
    }
    /// The limits of the original that this program exceeds.
    #[must_use]
    pub fn limits(&self) -> Vec<Limit> {
        Limit::exceeded(self)
    }
}
