//! The compiler: from the tokens of a kernel module to a validated schedule and one AscendC kernel. It does no I/O.
//!
//! `front.rs` and `compile.rs` are the order of the stages. Modules import only modules below them:
//!
//! | layer | modules |
//! |---|---|
//! | faces | `sizes` (open tile sizes), `fixed_sizes`, `compile`, `program`, `report`, `expansion` (the macro's view of a module), `fixture` (tests) |
//! | stages | `emit`, above `validate`, above `schedule`, above `analyze`, above `plan`, above `lower`, above `syntax` |
//! | machine | `tuned`, `cost`, `target` |
//! | findings | `finding`: faults as data, and their words |
//! | data | `graph` |
//! | vocabulary | `artifacts`, `collections`, `constant`, `divisor`, `ids`, `memory`, `names`, `random`, `time`, `units` |

#![forbid(unsafe_code)]

pub mod analyze;
pub mod artifacts;
mod collections;
pub mod compile;
mod constant;
pub mod cost;
pub mod divisor;
pub mod emit;
pub mod expansion;
pub mod finding;
pub mod fixed_sizes;
#[cfg(any(test, feature = "fixture"))]
pub mod fixture;
pub mod front;
pub mod graph;
pub mod ids;
mod lower;
mod memory;
pub mod names;
pub mod plan;
pub mod program;
pub mod random;
pub mod report;
pub mod schedule;
pub mod sizes;
pub mod syntax;
pub mod target;
pub mod time;
pub mod tuned;
pub mod units;
pub mod unused;
pub mod validate;

pub use hpmoe_expansion::fingerprint;
