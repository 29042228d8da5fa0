//! The kernel modules that a build script names, with the script's settings for them.

use crate::device::Device;
use crate::tuned::{read_tuned, tuned_file};
use crate::watch;
use hpmoe_core::front::{modules, too_deep};
use hpmoe_core::sizes::Expected;
use hpmoe_core::syntax::{Overrides, refuse_derived_overrides, refuse_unknown_overrides};
use hpmoe_core::target::Target;
use hpmoe_core::tuned::Tuned;
use std::path::PathBuf;

/// Kernels that are built with the same settings, with their sources.
pub(crate) struct KernelGroup {
    pub(crate) settings: Overrides,
    pub(crate) target: Target,
    pub(crate) expected: Expected,
    pub(crate) ranks: Vec<u32>,
    /// Options that make `hpmoe tune` tune for the same machine.
    pub(crate) tune: String,
    pub(crate) device: Option<Device>,
    pub(crate) toolkit: Option<PathBuf>,
    /// Whether kernels keep time stamps, as the build script says.
    pub(crate) time_stamps: bool,
    /// Whether fixed tile sizes may cost time without a warning.
    pub(crate) allow_slow_tile_sizes: bool,
    pub(crate) sources: Vec<KernelModule>,
}

/// Refuses a constant set for some kernels that none of them declares or that one computes from others, or set by `HPMOE_SET` and declared
/// by none at all or computed by any.
pub(crate) fn refuse_settings(parts: &[KernelGroup], environment: &Overrides) -> Result<(), String> {
    for part in parts {
        let modules = part.sources.iter().map(|source| &source.module);
        refuse_unknown_overrides(&part.settings, modules.clone())?;
        refuse_derived_overrides(&part.settings, modules)?;
    }
    let modules = parts.iter().flat_map(|part| &part.sources).map(|source| &source.module);
    refuse_derived_overrides(environment, modules.clone()).map_err(|problem| format!("HPMOE_SET: {problem}"))?;
    refuse_unknown_overrides(environment, modules).map_err(|problem| {
        format!(
            "HPMOE_SET: {problem}\nhelp: HPMOE_SET sets constants of all kernels of one `build()`; if the script calls `build()` \
             several times, join the calls: `kernels([..]).and(kernels([..])).build()`"
        )
    })
}

/// A kernel module and its file.
pub(crate) struct KernelModule {
    /// Relative to the package, with `/` between folders.
    pub(crate) file: String,
    pub(crate) module: syn::ItemMod,
    /// The tuned schedules next to the file, if there are any.
    pub(crate) tuned: Option<Tuned>,
}

/// Kernel modules of files.
pub(crate) struct Sources {
    pub(crate) modules: Vec<KernelModule>,
    /// Whether all files are valid Rust. Kernels of the others are not built; rustc reports the faults.
    pub(crate) complete: bool,
}

/// The kernel modules of all files that are valid Rust.
pub(crate) fn read_sources(files: &[PathBuf]) -> Result<Sources, String> {
    let (mut sources, mut complete) = (Vec::new(), true);
    for (at, file) in files.iter().enumerate() {
        if files[..at].contains(file) {
            println!("cargo::warning=the build script names `{}` twice: name it once", file.display());
            continue;
        }
        watch::input(file);
        let text = std::fs::read_to_string(file).map_err(|error| {
            format!("can't read `{}`: {error}; name files relative to the package's Cargo.toml", file.display())
        })?;
        let modules = match (modules(&text), too_deep(&text)) {
            (Ok(modules), _) => modules,
            (Err(_), Some(error)) => {
                return Err(format!("`{}`, line {}: {error}", file.display(), error.span().start().line));
            }
            (Err(error), None) => {
                let (file, at) = (file.display(), error.span().start());
                println!(
                    "cargo::warning=`{file}` is not valid Rust, so its kernels are not built: {error}, line {}",
                    at.line
                );
                complete = false;
                continue;
            }
        };
        if modules.is_empty() {
            println!("cargo::warning=`{}` holds no `#[megakernel]` module", file.display());
        }
        let tuned_file = tuned_file(file);
        let noticed = watch::input(&tuned_file);
        let tuned = read_tuned(&tuned_file)?;
        if tuned.is_none() && !noticed {
            println!(
                "cargo::warning=`{}` lies in a folder that the build writes to, so cargo can't notice when `{}` arrives: move the \
                 kernel into a folder of its own, such as `src`",
                file.display(),
                tuned_file.display()
            );
        }
        let file = file.to_string_lossy().replace('\\', "/");
        sources.extend(modules.into_iter().map(|module| KernelModule {
            file: file.clone(),
            module,
            tuned: tuned.clone(),
        }));
    }
    Ok(Sources { modules: sources, complete })
}
