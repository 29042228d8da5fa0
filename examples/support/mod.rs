//! What the examples share: reading a layer from a file, running it, comparing, and printing.

#![allow(dead_code, unused_macros, unused_imports, reason = "each example uses what it needs")]

#[cfg(test)]
pub mod check;
#[cfg(test)]
pub mod check_engine;
#[cfg(test)]
pub mod check_processes;
pub mod compare;
pub mod compared;
pub mod example;
pub mod found;
pub mod gradients;
pub mod int4;
pub mod int8;
pub mod layer;
pub mod options;
pub mod program;
pub mod quantised;
pub mod router;
pub mod synthetic;
pub mod team;
pub mod tensors;
