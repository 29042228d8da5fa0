//! Simulated time of every core of every rank on a described target, task by task.
//!
//! A [`Program`] gives each core of each rank its tasks in order, whatever policy planned them; the engine runs it with the
//! constants of a target. Nothing here is a measurement.

mod bound;
mod counters;
mod depends;
mod engine;
mod idle;
mod lane;
mod links;
mod memories;
mod ours;
mod program;
mod result;
mod routing;
mod shares;
mod tally;
#[cfg(test)]
mod tests;
mod traced;

pub(crate) use hpmoe_codegen::cost::{Cost, Costs, Shared, Works, reuse};
pub use hpmoe_codegen::cost::{Efficiency, Time, Work};
pub use hpmoe_codegen::schedule::CoreKind;

pub use bound::{Bound, bound};
pub use depends::depends_on;
pub use engine::simulate;
pub use idle::Spent;
pub use result::{OpTotal, Simulated, Stuck, TaskTimes};
pub use traced::{TracedTask, traced_tasks};

pub use ours::{Ours, TileExtents, Unfit};
pub use program::{CoreCosts, CounterSignal, CounterWait, Cursor, Op, Policy, PolicyCosts, Program, QueuedTask};
pub use routing::{Routing, RoutingError, RoutingSizes};
