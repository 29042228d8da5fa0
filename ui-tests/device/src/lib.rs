//! A library of kernels as a user's crate makes it: for C programs, and for Rust programs that compare with them.

#![forbid(unsafe_code)]

// Of the kernels that the build script names, this crate has one module.
#[path = "../../kernels/echo.rs"]
mod of_echo;

hpmoe_c::export!();
