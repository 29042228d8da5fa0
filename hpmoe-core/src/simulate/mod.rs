//! Simulated time on a described target: every rank, every core, task by task.
//!
//! A [`Program`] says what each core of each rank does in which order, whoever planned it; the engine runs it with the
//! constants of a target. Nothing here is a measurement.

mod program;
mod time;

pub use program::{CoreCosts, CoreKind, Cursor, Efficiency, Op, Policy, Program, Signal, Task, Wait, Work};
pub use time::Time;
