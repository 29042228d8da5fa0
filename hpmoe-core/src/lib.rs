//! The compiler: from the tokens of a kernel module to one statically scheduled AscendC megakernel.

pub mod analyze;
pub mod artifacts;
pub mod baseline;
pub mod calibrate;
pub mod compile;
pub mod emit;
pub mod expand;
pub mod finding;
pub mod fingerprint;
pub mod graph;
pub mod ids;
pub mod lower;
pub mod plan;
pub mod program;
mod random;
pub mod report;
pub mod schedule;
pub mod simulate;
pub mod syntax;
pub mod target;
pub mod tune;
pub mod units;
pub mod validate;
