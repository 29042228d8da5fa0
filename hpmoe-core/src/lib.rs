//! The compiler: from the tokens of a kernel module to a validated schedule and one AscendC kernel. It does no I/O.
//!
//! `front.rs` and `compile.rs` show the stages in their order. Each module imports only modules that come after it in this table:
//!
//! | layer | modules, from top to bottom |
//! |---|---|
//! | faces | `fixture` (tests), `fixed_sizes`, `sizes` (open tile sizes), `tuned`, `compile`, `program`, `report` |
//! | back end | `emit`, `validate`, `schedule` |
//! | machine | `cost`, `target` |
//! | front end | `expansion` (the macro's view of a module), `unused`, `front`, `analyze`, `plan`, `lower`, `syntax` |
//! | findings | `finding`: faults as data, and their words |
//! | data | `artifacts`, `graph` |
//! | vocabulary | `constant`, `collections`, `time`, `divisor`, `random`, `memory`, `ids`, `units`, `names` |

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
