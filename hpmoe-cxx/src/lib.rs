//! Compiles C++ for the machine that a build script runs on: one object per file, in parallel, used again as long as nothing
//! that decides its content has changed.
//!
//! Objects are kept in a folder of `OUT_DIR`, or in the one that `HPMOE_OBJECTS` names. Several packages, profiles and commands
//! (`cargo clippy`, `cargo test`) can share that one: each file is then compiled once for all of them.

#![forbid(unsafe_code)]

mod objects;
mod settings;

pub use objects::Compiler;
pub use settings::Settings;

use std::path::{Path, PathBuf};

/// Makes the static library `name` in `folder` and tells cargo to link it.
///
/// # Errors
///
/// What went wrong with the archiver.
pub fn archive_and_link(name: &str, objects: &[PathBuf], folder: &Path) -> Result<(), String> {
    archive_with(name, objects, folder, true)
}

/// Makes the static library `name` in `folder`.
///
/// # Errors
///
/// What went wrong with the archiver.
pub fn archive(name: &str, objects: &[PathBuf], folder: &Path) -> Result<(), String> {
    archive_with(name, objects, folder, false)
}

fn archive_with(name: &str, objects: &[PathBuf], folder: &Path, link: bool) -> Result<(), String> {
    let mut archive = cc::Build::new();
    archive.cpp(true).cargo_metadata(link).out_dir(folder).objects(objects);
    archive.try_compile(name).map_err(|error| format!("can't archive `{name}`: {error}"))
}
