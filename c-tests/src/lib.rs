//! A library of kernels as a user's crate makes it: for C programs, and for Rust programs that compare with them.

#![forbid(unsafe_code)]

hpmoe_c::export!();
