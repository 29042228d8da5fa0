//! Simulated time of kernels on a described target: of hpmoe's schedule, of the original's, and the bound that no schedule beats. Also the
//! fit of the target's constants, and the search for faster schedules.
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
