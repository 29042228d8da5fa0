//! Compiles the implementation of AscendC for CPUs, which generated kernels are linked with.

use hpmoe_cxx::{Compiler, Settings, archive_and_link};
use std::path::{Path, PathBuf};
use std::process::exit;

fn main() {
    if let Err(error) = build() {
        for line in error.lines() {
            println!("cargo::error={line}");
        }
        exit(1)
    }
}

fn build() -> Result<(), String> {
    let out_dir = PathBuf::from(std::env::var_os("OUT_DIR").ok_or("OUT_DIR is not set: this is a build script")?);
    let host = Path::new(hpmoe_kernels::HOST_DIR);
    println!("cargo::rerun-if-changed={}", host.display());
    // Optimised whatever the profile: an unoptimised one takes minutes for what it does in seconds.
    let compiler = Compiler::new(&Settings { opt_level: 3, warnings: false, includes: &[host] }, &out_dir)
        .map_err(|error| format!("hpmoe runs kernels on this machine's CPU by C++ code of its own: {error}"))?;
    let whole = out_dir.join("hpmoe_host.cpp");
    let text = whole_text(host).map_err(|error| format!("can't read `{}`: {error}", host.display()))?;
    std::fs::write(&whole, text).map_err(|error| format!("can't write `{}`: {error}", whole.display()))?;
    archive_and_link("hpmoe_host", &compiler.objects(&[&whole])?, &out_dir)
}

/// All C++ files of a directory one after the other, in the order of their names: as one file, the standard headers are read once,
/// which halves the time.
fn whole_text(directory: &Path) -> std::io::Result<String> {
    let paths = std::fs::read_dir(directory)?.map(|entry| entry.map(|entry| entry.path()));
    let mut sources = paths.collect::<std::io::Result<Vec<PathBuf>>>()?;
    sources.retain(|path| path.extension().is_some_and(|extension| extension == "cpp"));
    sources.sort();
    let with_its_lines = |path: &PathBuf| {
        let text = std::fs::read_to_string(path)?;
        Ok(format!("#line 1 \"{}\"\n{text}\n", path.display()))
    };
    sources.iter().map(with_its_lines).collect()
}
