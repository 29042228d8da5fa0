//! Simulated time: our schedule and the original's on a described target, the bound that no schedule beats, the fit of the
//! target's constants, and the search for faster schedules.
//!
//! This package lies above the compiler: neither macros nor build scripts need it.

#![forbid(unsafe_code)]

pub mod baseline;
pub mod calibrate;
pub mod device_routing;
mod gantt;
pub mod simulate;
pub mod tune;

pub use gantt::{WAIT_COLOURS, gantt, launch_colour, op_colours};
