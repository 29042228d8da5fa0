//! The code generator: schedules a checked task graph for a target, validates the schedule, and writes one AscendC kernel.
//!
//! `compile.rs` is the order of the stages.

#![forbid(unsafe_code)]

pub mod compile;
pub mod cost;
pub mod divisor;
pub mod emit;
pub mod fixed_sizes;
mod graph;
mod id_set;
pub mod program;
pub mod random;
pub mod report;
pub mod schedule;
pub mod sizes;
mod sorted_set;
pub mod target;
pub mod tuned;
pub mod validate;
