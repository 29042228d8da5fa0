//! Fits the constants that nobody has published to latencies that somebody has, and shows what comes of it.
//!
//! Three constants are fitted on EP8 alone: how close products come to the peak in a fused kernel and in kernels of their
//! own, and how close a collective comes to its link. The eight latencies of other sizes test the model.

mod comparison;
mod fit;
mod published;
mod runs;

pub use comparison::{Calibration, Comparison, calibrate, reproduce};
pub use fit::fit;
pub use published::{PUBLISHED, Published, PublishedPolicy};
pub use runs::Latency;
