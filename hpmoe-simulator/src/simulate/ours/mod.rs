//! Our own schedule as a program: what every core does with the run-time extents of a routing, as the device's worker loop
//! does it.

mod chunked;
mod counters;
mod layout;
mod once;
mod program;
mod unfit;

pub use program::{Ours, TileExtents};
pub use unfit::Unfit;
