//! Compiles the implementation of AscendC for CPUs, which generated kernels are linked with.

use hpmoe_cxx::{Compiler, Effort, Settings, archive_and_link, joined};
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
    let compiler = Compiler::new(
        &Settings { warnings: false, includes: &[host], macros: &[], effort: Effort::of_library() },
        &out_dir,
    )
    .map_err(|error| format!("can't build the C++ library that runs kernels on this machine's CPU: {error}"))?;
    let whole = out_dir.join("hpmoe_host.cpp");
    let text = joined(host).map_err(|error| format!("can't read `{}`: {error}", host.display()))?;
    std::fs::write(&whole, text).map_err(|error| format!("can't write `{}`: {error}", whole.display()))?;
    archive_and_link("hpmoe_host", &compiler.objects(&[&whole])?, &out_dir)
}
