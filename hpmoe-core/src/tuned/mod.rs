//! The file next to a kernel's source that keeps the schedules found by tuning, as build scripts read it.

mod candidate;
mod file;
mod shape;

pub use crate::syntax::is_tile_size;
pub use candidate::Candidate;
pub use file::{BuildSizes, OtherSize, Tuned, TunedKernel};
pub use shape::{NamedSizes, overrides, set_sizes, shape, sizes};
