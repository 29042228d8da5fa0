//! Compiles the implementation of AscendC for CPUs, which the stand-in's linker puts into each object.

use hpmoe_cxx::{Compiler, Settings, archive, joined};
use std::path::{Path, PathBuf};
use std::process::exit;

fn main() {
    if let Err(error) = build() {
        println!("cargo::error={error}");
        exit(1)
    }
}

fn build() -> Result<(), String> {
    let out_dir = PathBuf::from(std::env::var_os("OUT_DIR").ok_or("OUT_DIR is not set: this is a build script")?);
    let host = Path::new(hpmoe_kernels::HOST_DIR);
    println!("cargo::rerun-if-changed={}", host.display());
    // As the runtime compiles it, so that it is compiled once for both.
    let compiler = Compiler::new(&Settings { opt_level: 3, warnings: false, includes: &[host] }, &out_dir)?;
    let whole = out_dir.join("hpmoe_host.cpp");
    let text = joined(host).map_err(|error| format!("can't read `{}`: {error}", host.display()))?;
    std::fs::write(&whole, text).map_err(|error| format!("can't write `{}`: {error}", whole.display()))?;
    println!("cargo::rustc-env=HPMOE_STANDIN_CXX={}", compiler.program().display());
    archive("hpmoe_host", &compiler.objects(&[&whole])?, &out_dir)
}
