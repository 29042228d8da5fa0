//! The original's program for one shape and direction.

use super::task::Builder;
use super::{Direction, LayerShape, Limit, Operator, OriginalCounters, OriginalTask, Queues};
use hpmoe_codegen::schedule::CoreKind;

/// Rows of a put or a vector task.
pub(super) const ROWS: u32 = 128;
/// Matrix cores a product is shared out to.
pub(super) const CUBE_CORES: u32 = 24;
/// Vector cores that take tasks.
pub(super) const AIV_WORKERS: u32 = 24;
/// Vector cores of a die.
pub(super) const AIV_CORES: u32 = 48;

/// The program that HyperParallel-MoE runs. Its task list is that of the worst routing: on a balanced one most are empty.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Original {
    shape: LayerShape,
    direction: Direction,
}

/// An operator with its place in the task list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Listed {
    /// The operator.
    pub operator: Operator,
    /// Number of its first task.
    pub first: u32,
    /// How many tasks it has.
    pub tasks: u32,
}

impl Original {
    /// The program for a shape. What the original would refuse is built too: see [`Self::limits`].
    #[must_use]
    pub const fn new(shape: LayerShape, direction: Direction) -> Self {
        Self { shape, direction }
    }
    /// The sizes it was built for.
    #[must_use]
    pub const fn shape(&self) -> &LayerShape {
        &self.shape
    }
    /// The pass it runs.
    #[must_use]
    pub const fn direction(&self) -> Direction {
        self.direction
    }
    /// Cores of a rank that take tasks; of the vector cores, half.
    #[must_use]
    pub const fn workers(&self, core: CoreKind) -> u32 {
        match core {
            CoreKind::Aic => CUBE_CORES,
            CoreKind::Aiv => AIV_WORKERS,
        }
    }
    /// Numbers and thresholds of its counters.
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
    /// Tasks of a rank, with the last one.
    #[must_use]
    pub fn tasks_per_rank(&self) -> u32 {
        self.operators().iter().map(|listed| listed.tasks).sum::<u32>() + 1
    }
    /// The tasks of one rank; a task's number is its place.
    #[must_use]
    pub fn tasks(&self, rank: u32) -> Vec<OriginalTask> {
        Builder { shape: self.shape, direction: self.direction, counters: self.counters(), rank }.tasks()
    }
    /// The queues of one rank.
    #[must_use]
    pub fn queues(&self, rank: u32) -> Queues {
        Queues::of(self, rank)
    }
    /// What the original would refuse in this program.
    #[must_use]
    pub fn limits(&self) -> Vec<Limit> {
        Limit::exceeded(self)
    }
}
