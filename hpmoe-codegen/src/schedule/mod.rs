//! The static schedule: an ordered queue of entries for every core.

mod arrival;
mod bands;
mod choices;
mod cores;
mod cost;
mod elide;
mod groups;
mod joins;
mod list;
#[cfg(test)]
mod optimum;
mod parts;
mod precedence;
mod preceding;
mod priority;
mod queue;
mod roles;
#[expect(clippy::module_inception, reason = "a pass is one function in a file of its name")]
mod schedule;
mod swizzle;
mod tiling;
mod timeline;

pub use choices::{ByArrival, CHOICES, Choice, Choices, PeerCores, ReturnCores};
pub use cores::Cores;
pub(crate) use groups::chunk;
pub use queue::{CoreKind, Elision, Entry, Implied, Order, PhaseSchedule, Role, Schedule};
pub use schedule::{MAX_RANKS, schedule, schedule_for, schedule_with};
pub use swizzle::Swizzle;
pub use timeline::{Bar, Timeline, timeline};
