//! Our schedule as a workload: each core's tasks for the extents of a routing, in the order of the device's worker loop.

mod chunked;
mod costs;
mod counters;
mod entries;
mod layout;
mod least;
mod once;
mod route;
mod timeline;
mod turns;
mod unfit;
mod workload;

pub use chunked::{chosen_chunks, default_chunks, schedule_in_chunks};
pub use unfit::Unfit;
pub use workload::{Ours, TileExtents};
