//! What the examples share: reading a layer from a file, running it, comparing, and printing.

#![allow(dead_code, reason = "each example uses what it needs")]

#[cfg(test)]
pub mod check;
pub mod compare;
pub mod example;
pub mod layer;
pub mod options;
pub mod tensors;
