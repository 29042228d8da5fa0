//! How cores spend their time.

use super::Time;
use std::ops::AddAssign;

/// The time of all cores of one kind, divided by the use that they make of it. The sum of all parts is the number of cores times the
/// latency.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Spent {
    /// Time of the tasks' work if each task had the memories and links to itself.
    pub work: Time,
    /// The costs of each task in addition to its work: pickup, checks, signals, and fences after puts to other ranks.
    pub overhead: Time,
    /// The launch of the kernel.
    pub launch: Time,
    /// Waits for another core's work.
    pub dependency: Time,
    /// Waits for rows in transit.
    pub communication: Time,
    /// Additional time of the tasks' work because tasks share memories and links.
    pub contention: Time,
    /// Time from a core's last task to the end of the run.
    pub tail: Time,
}

impl Spent {
    /// The sum of all parts: the number of cores times the latency.
    #[must_use]
    pub fn total(&self) -> Time {
        self.work + self.overhead + self.launch + self.idle()
    }

    /// The sum of waits, contention and tail.
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
