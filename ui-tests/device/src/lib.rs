//! A library of kernels like in a user's crate: for C programs, and for Rust programs that compare with them.

#![forbid(unsafe_code)]

// This crate has one module of the kernels that the build script names.
#[path = "../../kernels/echo.rs"]
mod of_echo;

hpmoe_c::export!();
