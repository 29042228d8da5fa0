//! The build-script face of hpmoe: schedules the kernels of the named files, writes AscendC and tables, compiles and
//! links.
//!
//! A `build.rs` is one line:
//!
//! ```no_run
//! hpmoe_build::kernels(["src/moe.rs"]).build();
//! ```
//!
//! Constants of the kernels can be set for a build, here or by the environment variable `HPMOE_SET`
//! (`HPMOE_SET="HIDDEN=96,EXPERTS=12"`), which wins.

#![forbid(unsafe_code)]

mod cxx;
mod files;
mod module;
mod target;
#[cfg(test)]
mod tests;
mod tuned;

use hpmoe_codegen::tuned::Tuned;
use hpmoe_language::artifacts::{self, FOLDER};
use hpmoe_language::front::modules;
use hpmoe_language::syntax::{Constant, Overrides, declared_constants, refuse_unknown_overrides};
use module::Build;
use std::path::PathBuf;
use target::Machine;

pub use target::{fit_for_kernels, read_target};
pub use tuned::{read_tuned, tuned_file};

/// Names the source files that hold `#[megakernel]` modules, relative to the package.
pub fn kernels<P: Into<PathBuf>>(files: impl IntoIterator<Item = P>) -> Kernels {
    Kernels {
        files: files.into_iter().map(Into::into).collect(),
        settings: Overrides::new(),
        machine: Machine::default(),
    }
}

/// The kernels of a package.
#[derive(Clone, Debug)]
pub struct Kernels {
    files: Vec<PathBuf>,
    settings: Overrides,
    machine: Machine,
}

impl Kernels {
    /// Sets a constant, a `usize` or an `f32`, for this build, in every kernel that declares it.
    #[must_use]
    pub fn set(mut self, name: &str, value: impl Into<Constant>) -> Self {
        self.settings.insert(name.to_owned(), value.into());
        self
    }

    /// Makes the schedules for dies with that many matrix cores and twice as many vector cores, instead of 24 and 48.
    #[must_use]
    pub fn matrix_cores(mut self, count: u32) -> Self {
        self.machine.matrix_cores = Some(count);
        self
    }

    /// Makes the schedules for the machine that a file describes, instead of the built-in `ascend-a3`: for its numbers of cores
    /// and for what things cost on it. Of what `hpmoe tune --target FILE` has kept, the build takes what is kept under the
    /// name that the file gives the target.
    ///
    /// The path is relative to the package, as those of kernels are. How many cores there are, the file says: `matrix_cores` beside
    /// it is an error where it says another number.
    #[must_use]
    pub fn target(mut self, file: impl Into<PathBuf>) -> Self {
        self.machine.file = Some(file.into());
        self
    }

    /// Builds all kernels. To be called from `build.rs`.
    ///
    /// Faults of a kernel are shown by rustc at their place in the kernel; this ends the build script only where a tool or
    /// a file is missing, or where a constant is set that no kernel declares.
    pub fn build(self) {
        if let Err(problem) = self.try_build() {
            eprintln!("error: {problem}");
            std::process::exit(1);
        }
    }

    fn try_build(self) -> Result<(), String> {
        let out_dir = PathBuf::from(variable("OUT_DIR")?);
        let package = variable("CARGO_PKG_NAME")?;
        println!("cargo::rerun-if-env-changed=HPMOE_SET");
        let mut settings = self.settings;
        settings.extend(artifacts::parse_settings(&std::env::var("HPMOE_SET").unwrap_or_default())?);
        let target = self.machine.target()?;
        let Some(sources) = read_sources(&self.files)? else {
            // What is no Rust is rustc's to say, and it does as soon as this script ends.
            return Ok(());
        };
        let declared: Vec<String> = sources.iter().flat_map(|source| declared_constants(&source.module)).collect();
        refuse_unknown_overrides(&settings, declared.iter().map(String::as_str))?;
        let folder = out_dir.join(FOLDER);
        files::forget(&folder)?;
        let build = Build { settings, target, tune: self.machine.options(), package, folder };
        let mut objects = Vec::new();
        for source in &sources {
            objects.extend(build.module(source)?);
        }
        let folder = build.folder;
        // One module in two files is one kernel.
        objects.sort_by(|a, b| a.symbol.cmp(&b.symbol));
        objects.dedup_by(|a, b| a.symbol == b.symbol);
        cxx::compile(&objects, &folder)?;
        println!("cargo::rustc-link-search=native={}", folder.display());
        Ok(())
    }
}

/// A kernel module and where it stands.
struct Source {
    file: String,
    module: syn::ItemMod,
    /// What tuning has found for the kernels of the file.
    tuned: Option<Tuned>,
}

/// The kernels of all files; `None` where one of them is no Rust.
fn read_sources(files: &[PathBuf]) -> Result<Option<Vec<Source>>, String> {
    let mut sources = Vec::new();
    for file in files {
        println!("cargo::rerun-if-changed={}", file.display());
        let text = std::fs::read_to_string(file).map_err(|error| {
            format!("can't read `{}`: {error}; name files relative to the package's Cargo.toml", file.display())
        })?;
        let Ok(found) = modules(&text) else { return Ok(None) };
        if found.is_empty() {
            println!("cargo::warning=`{}` holds no `#[megakernel]` module", file.display());
        }
        let beside = tuned_file(file);
        let tuned = read_tuned(&beside)?;
        if tuned.is_some() {
            println!("cargo::rerun-if-changed={}", beside.display());
        }
        let file = file.to_string_lossy().replace('\\', "/");
        sources.extend(found.into_iter().map(|module| Source { file: file.clone(), module, tuned: tuned.clone() }));
    }
    Ok(Some(sources))
}

fn variable(name: &str) -> Result<String, String> {
    std::env::var(name).map_err(|_| format!("{name} is not set: call this from a build script"))
}
