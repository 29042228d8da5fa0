//! Where the time of cores goes.

use super::Time;
use std::ops::AddAssign;

/// Time of all cores of one kind, by what it is spent on; the parts add up to cores × latency.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Spent {
    /// Work at the speed that it has when nothing else runs.
    pub work: Time,
    /// What every task pays beside its work: pickup, checks, signals; fences after puts to other ranks.
    pub overhead: Time,
    /// The launch.
    pub launch: Time,
    /// Waiting for what another core computes.
    pub dependency: Time,
    /// Waiting for rows that are on their way.
    pub communication: Time,
    /// Work that took longer because memories or links were shared.
    pub contention: Time,
    /// After the core's last task, until the last core of all is done.
    pub tail: Time,
}

impl Spent {
    /// Cores × latency.
    #[must_use]
    pub fn total(&self) -> Time {
        self.work + self.overhead + self.launch + self.idle()
    }

    /// Neither work nor what a task must pay.
    #[must_use]
    pub fn idle(&self) -> Time {
        self.dependency + self.communication + self.contention + self.tail
    }
}

impl AddAssign for Spent {
    fn add_assign(&mut self, other: Self) {
        self.work += other.work;
        self.overhead += other.overhead;
        self.launch += other.launch;
        self.dependency += other.dependency;
        self.communication += other.communication;
        self.contention += other.contention;
        self.tail += other.tail;
    }
}
