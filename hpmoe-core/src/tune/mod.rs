//! Search for a better schedule against the simulator, and the file that keeps what was found.
//!
//! A [`Candidate`] is a set of choices with sizes of tiles. [`search`] measures candidates on several routings by simulated
//! time and returns the best; it does no I/O and looks at no clock.

mod candidate;
mod file;
mod score;
mod search;
mod shape;
#[cfg(test)]
mod tests;

pub use candidate::{Candidate, SIZES};
pub use file::{Tuned, TunedKernel};
pub use score::{Kernels, Score, Trial};
pub use search::{Found, Progress, search};
pub use shape::{Shape, overrides, shape, sizes};
