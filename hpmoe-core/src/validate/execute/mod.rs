//! Runs schedules tile by tile, with random routings and random interleavings of all cores.
//!
//! What a tile depends on is not taken from the analysis: phases are run one after the other first, and each tile
//! remembers which version of each element it met. Any other order must show it the same.

mod counters;
mod groups;
mod memory;
mod route;
mod routing;
mod run;
mod tests;

use crate::random::Random;
use groups::PhaseTile;
pub(super) use routing::RoutedSlots;
use run::run;
pub(super) use run::{Failure, Reference, run_against};
pub(super) use tests::runs;
