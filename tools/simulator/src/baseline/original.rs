//! The original's program for one shape and direction.

use super::sizes::{AIV_WORKERS, CUBE_CORES};
use super::task::TaskBuilder;
use super::{Direction, LayerShape, Operator, OriginalCounters, OriginalTask};
use hpmoe_core::schedule::CoreKind;

/// The program of HyperParallel-MoE. It has the tasks for the worst routing; under a balanced routing most of them are empty.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Original {
    shape: LayerShape,
    direction: Direction,
}

/// An operator, with the numbers of its tasks among all tasks of a rank.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Listed {
    /// The operator itself.
    pub operator: Operator,
    /// Number of the operator's first task.
    pub first: u32,
    /// Number of tasks of the operator.
    pub tasks: u32,
}

impl Original {
    /// Makes the program for a layer, even for one that the original would refuse: see [`Self::limits`].
    #[must_use]
    pub const fn new(shape: LayerShape, direction: Direction) -> Self {
        Self { shape, direction }
    }
    /// The layer that the program was built for.
    #[must_use]
    pub const fn shape(&self) -> &LayerShape {
        &self.shape
    }
    /// The pass that the program runs.
    #[must_use]
    pub const fn direction(&self) -> Direction {
        self.direction
    }
    /// Number of cores of kind `core` of a rank that take tasks: all 24 matrix cores, or 24 of the 48 vector cores.
    #[must_use]
    pub const fn workers(&self, core: CoreKind) -> u32 {
        match core {
            CoreKind::Aic => CUBE_CORES,
            CoreKind::Aiv => AIV_WORKERS,
        }
    }
    /// The numbers and thresholds of the program's counters.
    #[must_use]
    pub const fn counters(&self) -> OriginalCounters {
        OriginalCounters::new(self.shape, self.direction)
    }
    /// The operators in the order of their task numbers, without [`Operator::Terminate`].
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
    /// Number of tasks of a rank, including the task of [`Operator::Terminate`], which is the last one.
    #[must_use]
    pub fn tasks_per_rank(&self) -> u32 {
        self.operators().iter().map(|listed| listed.tasks).sum::<u32>() + 1
    }
    /// All tasks of a rank, in the order of their numbers.
    #[must_use]
    pub fn tasks(&self, rank: u32) -> Vec<OriginalTask> {
        TaskBuilder { shape: self.shape, direction: self.direction, counters: self.counters(), rank }.tasks()
    }
}
