//! The static schedule: an ordered queue of entries for every core.

mod ahead;
mod arrival;
mod bands;
mod choices;
mod cores;
mod cost;
mod deal;
mod elide;
mod estimate;
mod expert_orders;
mod fences;
mod groups;
mod joins;
mod lightest;
mod list;
#[cfg(test)]
mod optimum;
mod orders;
mod pace;
mod parts;
mod precedence;
mod preceding;
mod priority;
mod put_cores;
mod queue;
mod ranges;
mod ranks;
mod read_ahead;
mod roles;
mod rotation;
mod route;
#[expect(clippy::module_inception, reason = "a pass is one function in a file of its name")]
mod schedule;
mod sequence;
mod spans;
mod swizzle;
mod tiling;
mod timeline;
mod turns;
mod typical;

pub use choices::{ByArrival, CHOICES, Choice, Choices, PeerCores, ReturnCores};
pub use cores::Cores;
pub use deal::Deal;
pub use estimate::{Estimate, busy, estimate};
pub(crate) use groups::chunk;
pub use queue::{ChunkedOrders, CoreKind, Elision, Entry, Implied, Order, PhaseSchedule, Role, Schedule, Sends};
pub(crate) use ranges::peer_step;
pub use ranges::{Comes, Range};
pub use ranks::{MAX_RANKS, rank_counts};
pub(crate) use read_ahead::product_ahead;
pub use read_ahead::{ahead_of, most_ahead_of, right_operand};
pub use schedule::{schedule, schedule_for, schedule_with};
pub use swizzle::Swizzle;
pub use timeline::{Bar, StepBar, StepKind, Timeline, timeline};
pub(crate) use turns::MOST_TURN_ROWS;
