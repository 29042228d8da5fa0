//! The cost model of a target, which the scheduler and the simulator share.

mod ahead;
#[expect(clippy::module_inception, reason = "the cost function stands in a file of its name")]
mod cost;
mod declared;
mod extents;
mod gradients;
mod joined;
mod reuse;
mod work;
mod works;

pub use ahead::{Ahead, ENTRIES_AHEAD};
pub use cost::{Cost, CostModel, SharedWork};
pub use gradients::gradient_bytes;
pub use joined::{Joined, Shared};
pub use reuse::{Neighbours, PanelReuse, ProductExtents, TileWalk, reuse};
pub use work::{Efficiency, Products, Work, Written};
pub use works::{EntryTile, TileProduct, Works};
