//! The C interface of a library of hpmoe kernels, for programs in other languages.
//!
//! A crate of kernels becomes such a library by two lines of its `Cargo.toml` and one of its `lib.rs`:
//!
//! ```toml
//! [lib]
//! crate-type = ["cdylib"]
//! ```
//!
//! ```ignore
//! hpmoe_c::export!();
//! ```
//!
//! [`export!`] finds all kernels that the build script has built. The library has the functions of `include/hpmoe.h`
//! ([`HEADER`]): it describes its kernels, makes groups, and launches on memory of the caller. A program links one such library;
//! one that opens libraries at run time can use any number of them.

mod describe;
mod error;
pub mod functions;
mod groups;
pub mod header;
mod kernels;
mod launch;
mod macros;
mod memory;
mod parts;
mod report;

pub use header::{HpmoeDevice, HpmoeElement, HpmoeGroup, HpmoeMemory, HpmoeOptions, HpmoeStatus, HpmoeTensor};
#[doc(hidden)]
pub use hpmoe_runtime;
pub use kernels::{Constant, Kernel, Library};

/// The text of the C header.
pub const HEADER: &str = include_str!("../include/hpmoe.h");
