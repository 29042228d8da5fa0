//! Compiles the implementation of AscendC for CPUs, which the stand-in's linker puts into each object, and the stand-ins for CANN's
//! libraries.

use hpmoe_cxx::{Compiler, Effort, Settings, archive, joined};
use std::path::{Path, PathBuf};
use std::process::{Command, exit};

/// Folder of the headers that declare the libraries' calls.
const HEADERS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../hpmoe-runtime/acl");
/// Folder of the stand-ins' sources.
const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/acl");
const SHMEM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/shmem");
const ASCENDCL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/ascendcl");

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
    // The same settings as the runtime's, so that the sources are compiled once for both.
    let compiler =
        Compiler::new(&Settings { warnings: false, includes: &[host], macros: &[], effort: Effort::Run }, &out_dir)?;
    let whole = out_dir.join("hpmoe_host.cpp");
    let text = joined(host).map_err(|error| format!("can't read `{}`: {error}", host.display()))?;
    std::fs::write(&whole, text).map_err(|error| format!("can't write `{}`: {error}", whole.display()))?;
    println!("cargo::rustc-env=HPMOE_STANDIN_CXX={}", compiler.program().display());
    archive("hpmoe_host", &compiler.objects(&[&whole])?, &out_dir)?;
    let (acl, shmem, header) = (Path::new(SOURCES), Path::new(SHMEM), Path::new(HEADERS));
    library("acl_rt", acl, &[acl, header, host], &[], &out_dir)?;
    library("shmem", shmem, &[shmem, acl, header, host], &["acl_rt"], &out_dir)?;
    // Programs that link only this library also find the runtime library's calls.
    let ascendcl = Path::new(ASCENDCL);
    library("ascendcl", ascendcl, &[ascendcl, acl, header, host], &["acl_rt"], &out_dir)?;
    // Programs link or open libraries of other names, too; the calls that they look up there are in the library above.
    linked(&compiler, &[], &out_dir.join("libother.so"), &["ascendcl"])
}

/// Compiles and links a library, with some other libraries from the same folder.
fn library(name: &str, sources: &Path, includes: &[&Path], others: &[&str], out_dir: &Path) -> Result<(), String> {
    let settings = Settings { warnings: true, includes, macros: &[], effort: Effort::Run };
    let compiler = Compiler::new(&settings, out_dir)?;
    let whole = out_dir.join(format!("{name}.cpp"));
    let text = joined(sources).map_err(|error| format!("can't read `{}`: {error}", sources.display()))?;
    std::fs::write(&whole, text).map_err(|error| format!("can't write `{}`: {error}", whole.display()))?;
    let objects = compiler.objects(&[&whole])?;
    linked(&compiler, &objects, &out_dir.join(format!("lib{name}.so")), others)
}

/// Links objects to a library, with some other libraries from the same folder.
fn linked(compiler: &Compiler, objects: &[PathBuf], library: &Path, others: &[&str]) -> Result<(), String> {
    let mut link = Command::new(compiler.program());
    link.args(["-shared", "-pthread", "-Wl,-rpath,$ORIGIN", "-Wl,--no-as-needed", "-o"]).arg(library).args(objects);
    link.arg("-L").arg(library.parent().unwrap_or(Path::new(".")));
    link.args(others.iter().map(|other| format!("-l{other}"))).arg("-ldl");
    let output = link.output().map_err(|error| format!("can't start `{}`: {error}", compiler.program().display()))?;
    let said = || format!("`{}` was not linked: {}", library.display(), String::from_utf8_lossy(&output.stderr));
    output.status.success().then_some(()).ok_or_else(said)
}
