//! The examples' common code: reading a layer from a file, running it, comparing, and printing.

pub mod check;
pub mod check_engine;
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
pub mod output;
pub mod program;
pub mod quantised;
pub mod router;
pub mod safetensors;
pub mod synthetic;
pub mod team;
pub mod tensors;
