//! Compiles the implementation of AscendC for CPUs, which generated kernels are linked with.

use std::path::{Path, PathBuf};
use std::process::exit;

fn main() {
    let host = Path::new(hpmoe_kernels::HOST_DIR);
    println!("cargo::rerun-if-changed={}", host.display());
    let whole = whole(host).unwrap_or_else(|error| fail(&format!("{}: {error}", host.display())));
    // Optimised whatever the profile: an unoptimised one takes minutes for what it does in seconds. Nothing may be fused
    // or reassociated: the reference computes the same bits.
    let result = cc::Build::new()
        .cpp(true)
        .std("c++17")
        .opt_level(3)
        .debug(false)
        .flag("-ffp-contract=off")
        .flag("-pthread")
        .include(host)
        .file(whole)
        .try_compile("hpmoe_host");
    if let Err(error) = result {
        fail(&format!(
            "hpmoe runs kernels on this machine's CPU and needs a C++17 compiler for it: install g++ or clang++, or name \
             one in CXX\n{error}"
        ));
    }
}

/// Writes one source file that includes every C++ file of a directory, in the order of their names: the standard headers are then read
/// once, which halves the time.
fn whole(directory: &Path) -> std::io::Result<PathBuf> {
    let mut sources = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "cpp") {
            sources.push(path);
        }
    }
    sources.sort();
    let text: String = sources.iter().map(|source| format!("#include \"{}\"\n", source.display())).collect();
    let whole = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets it")).join("hpmoe_host.cpp");
    std::fs::write(&whole, text)?;
    Ok(whole)
}

fn fail(message: &str) -> ! {
    for line in message.lines() {
        println!("cargo::error={line}");
    }
    exit(1)
}
