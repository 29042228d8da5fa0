//! Compiles C++ for the machine that a build script runs on: one object per file, in parallel. An object is reused as long as nothing that
//! determines its content has changed.
//!
//! Objects are kept in the folder `objects` of `OUT_DIR`, or in the folder that `HPMOE_OBJECTS` names. Several packages, profiles and
//! commands (`cargo clippy`, `cargo test`) can share a folder named by `HPMOE_OBJECTS`: each file is then compiled once for all of them. A
//! [`Store`] keeps the objects of other compilers in the same way.
//!
//! `HPMOE_CXX_RUNTIME` says how [`archive_and_link`] links the C++ standard library: `shared` (the default), `static`, or `prefer-static`,
//! which is `static` if the compiler has an archive of the library.

#![forbid(unsafe_code)]

mod arithmetic;
mod objects;
mod room;
mod runtime;
mod settings;
mod store;

pub use objects::{Compiler, Refusal, Source};
pub use settings::{Effort, Settings};
pub use store::{Asker, Store, in_parallel};

use std::path::{Path, PathBuf};

/// Makes the static library `name` in `folder`, and tells cargo to link it and the C++ standard library.
///
/// # Errors
///
/// If the archiver fails, there is no compiler, or `HPMOE_CXX_RUNTIME` is invalid or is `static` without an archive of the C++ standard
/// library.
pub fn archive_and_link(name: &str, objects: &[PathBuf], folder: &Path) -> Result<(), String> {
    archive_with(name, objects, folder, true)
}

/// Makes the static library `name` in `folder`.
///
/// # Errors
///
/// If the archiver fails.
pub fn archive(name: &str, objects: &[PathBuf], folder: &Path) -> Result<(), String> {
    archive_with(name, objects, folder, false)
}

/// All files of a folder that end in `.cpp`, as one text, in the order of their names. In one file, the standard headers are read only
/// once, which halves the compile time. Messages name the original lines.
///
/// # Errors
///
/// If a file can't be read.
pub fn joined(folder: &Path) -> std::io::Result<String> {
    let paths = std::fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path()));
    let mut sources = paths.collect::<std::io::Result<Vec<PathBuf>>>()?;
    sources.retain(|path| path.extension().is_some_and(|extension| extension == "cpp"));
    sources.sort();
    let with_its_lines = |path: &PathBuf| {
        let text = std::fs::read_to_string(path)?;
        Ok(format!("#line 1 \"{}\"\n{text}\n", path.display()))
    };
    sources.iter().map(with_its_lines).collect()
}

fn archive_with(name: &str, objects: &[PathBuf], folder: &Path, link: bool) -> Result<(), String> {
    let mut archive = cc::Build::new();
    archive.cpp(true).cargo_metadata(link).out_dir(folder).objects(objects);
    let compiler = link.then(|| archive.try_get_compiler().map_err(|error| error.to_string())).transpose()?;
    let standard_library = compiler.map(|compiler| runtime::archive_to_link(&compiler)).transpose()?.flatten();
    if standard_library.is_some() {
        archive.cpp_link_stdlib(None);
    }
    archive.try_compile(name).map_err(|error| format!("can't archive `{name}`: {error}"))?;
    standard_library.iter().for_each(|archive| runtime::link(archive));
    Ok(())
}
