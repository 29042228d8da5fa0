//! Simulated time: our schedule and the original's on a described target, the bound that no schedule beats, the fit of the
//! target's constants, and the search for better schedules.
//!
//! Above the compiler: nothing that a macro or a build script runs needs it.

#![forbid(unsafe_code)]

pub mod baseline;
pub mod calibrate;
mod gantt;
pub mod simulate;
pub mod tune;

pub use gantt::gantt;
