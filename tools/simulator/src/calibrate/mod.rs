//! The fit of unpublished constants to published latencies, and the errors that remain.
//!
//! Three constants are fitted on EP8 only: the efficiency of products in a fused kernel, that of products in separate kernels, and
//! the share of a link's bandwidth that a collective reaches. The eight latencies of other sizes test the model.

mod comparison;
mod fit;
mod published;
mod runs;

pub use comparison::{Calibration, Comparison, calibrate, reproduce};
pub use fit::fit;
pub use published::{PUBLISHED, Published, PublishedPolicy};
pub use runs::Latency;
