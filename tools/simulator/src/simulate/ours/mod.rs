//! Our schedule as a workload: the tasks of every core for the extents of a routing, as the device's worker loop walks them.

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
