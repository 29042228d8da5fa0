//! The language: from the tokens of a kernel module to its checked task graphs, and what the macro is told of the module.
//!
//! `front.rs` is the order of the stages. Nothing here knows cores, costs or schedules. Modules import only modules below them:
//!
//! | layer | modules |
//! |---|---|
//! | faces | `front`, `expansion` (what the macro is told), `artifacts` (names of what is built), `fixture` (tests) |
//! | stages | `analyze`, above `plan`, above `lower`, above `syntax` |
//! | findings | `finding`: faults as data, and their words |
//! | data | `graph` |
//! | vocabulary | `constant`, `memory`, `ids`, `units`, `names` |

#![forbid(unsafe_code)]

pub mod analyze;
pub mod artifacts;
mod constant;
pub mod expansion;
pub mod finding;
#[cfg(any(test, feature = "fixture"))]
pub mod fixture;
pub mod front;
pub mod graph;
pub mod ids;
mod lower;
mod memory;
pub mod names;
pub mod plan;
pub mod syntax;
pub mod units;

pub use hpmoe_expansion::fingerprint;
