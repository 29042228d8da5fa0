//! The file beside a kernel that keeps the schedules found by tuning, as build scripts read it.

mod candidate;
mod file;
mod shape;

pub use candidate::{Candidate, SIZES};
pub use file::{Tuned, TunedKernel};
pub use shape::{Shape, overrides, shape, sizes};
