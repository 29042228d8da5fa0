//! The compiler: from the tokens of a kernel module to one statically scheduled AscendC megakernel.

pub mod analyze;
pub mod graph;
pub mod ids;
pub mod schedule;
pub mod units;
