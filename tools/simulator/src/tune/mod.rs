//! The search for faster schedules in the simulator.
//!
//! [`search`] simulates candidates on several routings, compares their times and returns the best. It does no I/O and reads no clock.

mod knob;
mod score;
mod search;
#[cfg(test)]
mod tests;

pub use score::{BuildKernel, FailedAt, Score, Trial};
pub use search::{NoResult, SearchProgress, SearchResult, SearchSpace, SearchStep, search};
