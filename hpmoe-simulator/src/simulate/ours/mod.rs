//! Our schedule as a program: the tasks of every core for the extents of a routing, as the device's worker loop walks them.

mod chunked;
mod counters;
mod layout;
mod once;
mod program;
mod unfit;

pub use program::{Ours, TileExtents};
pub use unfit::Unfit;
