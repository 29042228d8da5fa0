//! From a schedule to text: AscendC for the kernel, Rust tables for the runtime.

mod ascendc;
mod context;
mod cpp;
mod cube;
mod descriptors;
mod dispatch;
mod put;
mod readiness;
mod size;
mod tables;
mod vector;
mod views;

pub use ascendc::{Ascendc, ascendc};
pub use tables::{Paths, Tables, tables};

/// What generated text calls things.
#[derive(Clone, Copy, Debug)]
pub struct Names<'a> {
    /// The source file, as the user named it.
    pub file: &'a str,
    /// Symbol of the kernel.
    pub symbol: &'a str,
}

#[cfg(test)]
mod tests;
