//! Simulated time on a described target: every rank, every core, task by task.
//!
//! A [`Program`] says what each core of each rank does in which order, whoever planned it; the engine runs it with the
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
mod record;
mod result;
mod routing;
mod shares;
mod tally;
#[cfg(test)]
mod tests;

pub(crate) use hpmoe_codegen::cost::{Cost, Costs, Shared, Works, reuse};
pub use hpmoe_codegen::cost::{Efficiency, Time, Work};
pub use hpmoe_codegen::schedule::CoreKind;

pub use bound::{Bound, bound};
pub use depends::depends;
pub use engine::simulate;
pub use idle::Spent;
pub use record::{Record, record};
pub use result::{OpTotal, Simulated, Slice, Stuck};

pub use ours::{Ours, Tile, Unfit};
pub use program::{CoreCosts, Cursor, Op, Policy, Program, Signal, Task, Wait};
pub use routing::{NoRouting, Routing};
