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
//! [`export!`] finds all kernels that the build script has built. The library has the functions of `include/hpmoe.h` ([`HEADER`]): it
//! describes its kernels, makes groups, and launches on memory of the caller. A program links one such library; a program that opens
//! libraries at run time can use any number of them.
//!
//! The build script of a program that uses the library can write the header to a folder that its C compiler searches:
//!
//! ```
//! let folder = std::env::temp_dir();
//! std::fs::write(folder.join("hpmoe.h"), hpmoe_c::HEADER)?;
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! A program in C makes a group, launches a taskflow by its name, and prints the message if the launch fails:
//!
//! ```c
//! HpmoeGroup group;
//! hpmoe_group_new(4, NULL, &group); /* four ranks as threads, default options */
//! if (hpmoe_launch(group, "moe_ffn::forward", ids, 4, tensors, 6, NULL) != HPMOE_OK) puts(hpmoe_last_error());
//! puts(hpmoe_last_report());
//! ```
//!
//! `hpmoe_fix` makes a launch that `hpmoe_replay` launches again and again with other data in the same tensors, and that a graph of CANN
//! can capture (`hpmoe_capture`).
//!
//! `hpmoe_describe` lists the taskflows as JSON, with their constants, and with their arguments in the order that `tensors` must have. The
//! Python package of the repository uses this interface.

mod advice;
mod describe;
mod error;
mod fixed;
pub mod functions;
mod groups;
pub mod header;
mod joining;
mod kernel;
mod launch;
mod launches;
mod lent;
mod library;
mod listeners;
mod macros;
mod memory;
mod memory_table;
mod parts;
mod placement;
mod reference;
mod report;

pub use header::{
    HpmoeDevice, HpmoeElement, HpmoeFixed, HpmoeGroup, HpmoeJoining, HpmoeListener, HpmoeMemory, HpmoeOptions,
    HpmoePending, HpmoePlacement, HpmoeStatus, HpmoeTensor,
};
#[doc(hidden)]
pub use hpmoe_runtime;
#[doc(hidden)]
pub use inventory;
pub use kernel::{Constant, Kernel};
pub use library::Library;
#[doc(hidden)]
pub use reference::Reference;

/// The text of the C header.
pub const HEADER: &str = include_str!("../include/hpmoe.h");
