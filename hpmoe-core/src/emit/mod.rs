//! Writes a schedule as text: AscendC for the kernel, Rust tables for the runtime.

mod ascendc;
mod context;
mod contract;
mod cpp;
mod cube;
mod descriptors;
mod dispatch;
mod expects;
mod external;
mod put;
mod readiness;
mod route;
mod routines;
mod size;
mod tables;
mod tolerance;
mod vector;
mod views;

pub use ascendc::{Ascendc, CodeBytes, ascendc};
pub use contract::{contract, signature};
pub use readiness::awaits_ready;
pub use route::route_bytes;
pub use tables::{Paths, Tables, tables};

/// The parts of generated text that don't follow from the schedule.
#[derive(Clone, Copy, Debug)]
pub struct Names<'a> {
    /// The source file, as the user named it.
    pub file: &'a str,
    /// The symbol of the kernel's entry point.
    pub symbol: &'a str,
    /// Whether cores record time stamps of their tiles.
    pub time_stamps: bool,
}

/// The machine that a kernel's file is written for. The files of both machines differ only if an operator is device-only.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Machine {
    /// The CPU of a host, for the host's C++ compiler.
    Host,
    /// An NPU, for CANN's compiler.
    Device,
}

#[cfg(test)]
mod tests;
