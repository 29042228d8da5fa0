//! A core and its task.

use super::{CoreKind, QueuedTask, TaskTimes, Time, Upcoming};

/// A core and its task.
pub(super) struct CoreState {
    pub(super) rank: u32,
    pub(super) kind: CoreKind,
    pub(super) number: u32,
    pub(super) task: QueuedTask,
    pub(super) next: Upcoming,
    /// Number of the task's waits that have ended.
    pub(super) held: usize,
    /// Time at which the core reads the counter of its next wait.
    pub(super) looks: Time,
    pub(super) came: Time,
    pub(super) looked: Time,
    pub(super) begun: Time,
    pub(super) alone: Time,
    /// Time that the task takes between its waits and its signals in addition to its work: the start of a put, and its fence if it has one.
    pub(super) fixed: Time,
    /// Share of [`QueuedTask::ahead`] that has been read. `reading` is the share that is being read.
    pub(super) read: f64,
    pub(super) reading: Option<f64>,
    pub(super) done: bool,
}

/// Time at which a core notices a signal that is visible from `seen` on, if the core reads the counter from `looks` on, every `poll`.
pub(super) fn look_at(looks: Time, seen: Time, poll: Option<Time>) -> Time {
    match poll {
        _ if seen <= looks => looks,
        Some(poll) if poll > Time::ZERO => looks + poll * (seen - looks).0.div_ceil(poll.0),
        _ => seen,
    }
}

impl CoreState {
    pub(super) fn new(rank: u32, kind: CoreKind, number: u32) -> Self {
        Self {
            rank,
            kind,
            number,
            task: QueuedTask::default(),
            next: Upcoming::default(),
            held: 0,
            looks: Time::ZERO,
            came: Time::ZERO,
            looked: Time::ZERO,
            begun: Time::ZERO,
            alone: Time::ZERO,
            fixed: Time::ZERO,
            read: 0.0,
            reading: None,
            done: false,
        }
    }

    pub(super) fn slice(&self, end: Time) -> TaskTimes {
        let QueuedTask { op, group, item, column, .. } = self.task;
        let (rank, kind, core) = (self.rank, self.kind, self.number);
        let Self { came, looked, begun, .. } = *self;
        TaskTimes { rank, kind, core, op, group, item, column, came, looked, begun, end }
    }
}
