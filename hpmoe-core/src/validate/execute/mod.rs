//! Runs schedules tile by tile, with random routings and random interleavings of all cores.
//!
//! The expected result is not taken from the analysis: phases first run one after another, and each tile records the
//! version of each element that it met. In any other order, the tile must meet the same versions.

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
