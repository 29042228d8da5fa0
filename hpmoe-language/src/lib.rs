//! The language: from the tokens of a kernel module to its checked task graphs, and what the macro makes of the module.
//!
//! `front.rs` is the order of the stages. Nothing here knows cores, costs or schedules.

#![forbid(unsafe_code)]

pub mod analyze;
pub mod artifacts;
pub mod expand;
pub mod finding;
pub mod fingerprint;
#[cfg(any(test, feature = "fixture"))]
pub mod fixture;
pub mod front;
pub mod graph;
pub mod ids;
pub mod lower;
pub mod names;
pub mod plan;
pub mod syntax;
pub mod units;
