//! The search for a better schedule against the simulator.
//!
//! [`search`] measures candidates on several routings by simulated time and returns the best; it does no I/O and looks at no
//! clock.

mod knob;
mod score;
mod search;
#[cfg(test)]
mod tests;

pub use score::{BuildKernel, Score, Trial};
pub use search::{Progress, SearchResult, search};
