//! Simulation of the time of every core of every rank on a described target, task by task.
//!
//! A [`Workload`] gives each core its tasks in order, whatever policy planned them. The engine runs it with the constants of a target. No
//! result is a measurement.

mod bound;
mod cause;
mod core_state;
mod counters;
mod depends;
mod engine;
mod idle;
mod lane;
mod links;
mod memories;
mod ours;
mod result;
mod routing;
mod shares;
mod tally;
#[cfg(test)]
mod tests;
mod traced;
mod upcoming;
mod workload;

pub use hpmoe_core::cost::{Ahead, Efficiency, Products, Work, Written};
pub(crate) use hpmoe_core::cost::{
    Cost, CostModel, EntryTile, Joined, Neighbours, PanelReuse, ProductExtents, SharedWork, TileWalk, Works, reuse,
};
pub use hpmoe_core::schedule::CoreKind;
pub use hpmoe_core::time::Time;

pub use bound::{Bound, bound};
pub use cause::{Cause, causes, critical_path};
pub use depends::depends_on;
pub use engine::{EVENTS_BETWEEN, ready_seen, simulate, simulate_while};
pub use idle::Spent;
pub use result::{Halted, OpTotal, Simulated, Stuck, TaskTimes};
pub use tally::tile_tasks;
pub use traced::{TracedTask, traced_tasks};

pub use ours::{Ours, TileExtents, Unfit, chosen_chunks, default_chunks, schedule_in_chunks};
pub use routing::{Routing, RoutingError, RoutingSizes};
pub use upcoming::{CoreId, EntriesRead, Upcoming};
pub use workload::{CoreCosts, CounterSignal, CounterWait, Cursor, Op, Policy, PolicyCosts, QueuedTask, Workload};
