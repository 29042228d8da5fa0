//! The C interface of a library of kernels.

mod errors;
mod joining;
mod placement;
mod program;
mod signatures;
mod support;
mod threads;
