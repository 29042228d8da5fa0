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
mod tuned;

use hpmoe_core::artifacts::{self, Artifact, FOLDER, Resolved};
use hpmoe_core::compile::{Front, back, front, modules};
use hpmoe_core::fingerprint::{of_flow, of_module};
use hpmoe_core::program::Program;
use hpmoe_core::schedule::Cores;
use hpmoe_core::syntax::{Constant, Overrides, declared_constants, refuse_unknown_overrides};
use hpmoe_core::target::Target;
use hpmoe_core::tune::{self, Candidate, Tuned, shape};
use std::path::{Path, PathBuf};

pub use tuned::{read_tuned, tuned_file};

/// Names the source files that hold `#[megakernel]` modules, relative to the package.
pub fn kernels<P: Into<PathBuf>>(files: impl IntoIterator<Item = P>) -> Kernels {
    Kernels { files: files.into_iter().map(Into::into).collect(), settings: Overrides::new(), cores: Cores::ASCEND_A3 }
}

/// The kernels of a package.
#[derive(Clone, Debug)]
pub struct Kernels {
    files: Vec<PathBuf>,
    settings: Overrides,
    cores: Cores,
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
        self.cores = Cores::of(count);
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
        let Some(sources) = read_sources(&self.files)? else {
            // What is no Rust is rustc's to say, and it does as soon as this script ends.
            return Ok(());
        };
        let declared: Vec<String> = sources.iter().flat_map(|source| declared_constants(&source.module)).collect();
        refuse_unknown_overrides(&settings, declared.iter().map(String::as_str))?;
        let folder = out_dir.join(FOLDER);
        files::forget(&folder)?;
        let mut objects = Vec::new();
        for source in &sources {
            objects.extend(build_module(source, &settings, self.cores, &package, &folder)?);
        }
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

/// Writes what the macro and the compiler need for one module; returns the C++ to compile.
fn build_module(
    source: &Source,
    settings: &Overrides,
    cores: Cores,
    package: &str,
    folder: &Path,
) -> Result<Vec<cxx::Unit>, String> {
    let name = source.module.ident.to_string();
    let hash = of_module(&source.module);
    let own: Vec<String> = declared_constants(&source.module);
    let overrides: Overrides =
        settings.iter().filter(|(name, _)| own.contains(name)).map(|(name, value)| (name.clone(), *value)).collect();
    let target = cores.on(&Target::ascend_a3());
    let Candidate { sizes, choices } = tuned_for(source, &overrides, &target).unwrap_or_default();
    // What is set for this build wins.
    let overrides = tune::overrides(&overrides, &sizes);
    let resolved = Resolved { source: source.file.clone(), cores, overrides, choices };
    files::write(&folder.join(artifacts::resolved_file(&name, hash)), &resolved.write())?;
    files::write(&folder.join(format!("{name}.built")), &source.file)?;
    // The macro runs the same front end and shows its faults at their places.
    let Ok(Front { flows, .. }) = front(&source.module, &resolved.overrides) else { return Ok(Vec::new()) };
    let mut units = Vec::new();
    for checked in &flows {
        let graph = checked.graph();
        let choices = resolved.choices_of(&graph.taskflow);
        let fingerprint = of_flow(hash, graph, cores, &choices);
        let artifact = Artifact::new(package, &graph.kernel, &graph.taskflow, fingerprint);
        match back(checked, (&target, &choices), &source.file, &artifact, &fingerprint.hex()) {
            Ok(program) => units.push(write(&artifact, &program, folder)?),
            Err(fault) => files::write(&folder.join(format!("{}.fault", artifact.stem)), &fault)?,
        }
    }
    Ok(units)
}

/// What tuning has found for a kernel with these constants; a kernel that nobody tuned for them gets a note.
fn tuned_for(source: &Source, overrides: &Overrides, target: &Target) -> Option<Candidate> {
    let (tuned, module) = (source.tuned.as_ref()?, &source.module);
    // Faults are shown by the macro.
    let Front { kernel, .. } = front(module, overrides).ok()?;
    let found = tuned.find(&kernel.name, &shape(module, &kernel), (&target.name, target.cores.aic));
    let candidate = found.map(|found| found.candidate.clone());
    let fits = |candidate: &Candidate| {
        let own = declared_constants(module);
        candidate.sizes.keys().all(|name| own.contains(name))
            && front(module, &tune::overrides(overrides, &candidate.sizes)).is_ok()
    };
    let missing = match &candidate {
        None => "has no schedule for these constants",
        Some(candidate) if !fits(candidate) => "has sizes that the kernel can't have any more",
        Some(_) => return candidate,
    };
    let (file, kernel, target) = (tuned_file(Path::new(&source.file)), kernel.name, &target.name);
    println!(
        "cargo::warning=kernel `{kernel}` is built with the default schedule: `{}` {missing} on {target} (`hpmoe tune {}` \
         finds one)",
        file.display(),
        source.file
    );
    None
}

fn write(artifact: &Artifact, program: &Program, folder: &Path) -> Result<cxx::Unit, String> {
    for file in &program.files {
        files::write_bytes(&folder.join(&file.name), &file.bytes)?;
    }
    Ok(cxx::Unit { symbol: artifact.symbol.clone(), source: folder.join(format!("{}.cpp", artifact.stem)) })
}

fn variable(name: &str) -> Result<String, String> {
    std::env::var(name).map_err(|_| format!("{name} is not set: call this from a build script"))
}
