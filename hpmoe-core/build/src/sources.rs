//! The kernel modules that a build script names, with what it sets for them.

use crate::device::Device;
use crate::tuned::{read_tuned, tuned_file};
use hpmoe_core::front::modules;
use hpmoe_core::sizes::Expected;
use hpmoe_core::syntax::{Overrides, declared_constants, refuse_unknown_overrides};
use hpmoe_core::target::Target;
use hpmoe_core::tuned::Tuned;
use std::path::{Path, PathBuf};

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

/// Refuses a constant set for some kernels that none of them declares, or set by `HPMOE_SET` and declared by none at all.
pub(crate) fn refuse_undeclared(parts: &[KernelGroup], environment: &Overrides) -> Result<(), String> {
    let declared =
        |part: &KernelGroup| part.sources.iter().flat_map(|source| declared_constants(&source.module)).collect();
    let declared: Vec<Vec<String>> = parts.iter().map(declared).collect();
    for (part, declared) in parts.iter().zip(&declared) {
        refuse_unknown_overrides(&part.settings, declared.iter().map(String::as_str))?;
    }
    refuse_unknown_overrides(environment, declared.iter().flatten().map(String::as_str)).map_err(|problem| {
        format!(
            "HPMOE_SET: {problem}\nhelp: it sets constants of all kernels of one `build()`; where the script builds several \
             times, join them: `kernels([..]).and(kernels([..])).build()`"
        )
    })
}

/// A kernel module and its file.
pub(crate) struct KernelModule {
    /// Relative to the package, with `/` between folders.
    pub(crate) file: String,
    pub(crate) module: syn::ItemMod,
    /// The tuned schedules next to the file, where there are any.
    pub(crate) tuned: Option<Tuned>,
}

/// The kernel modules of all files; `None` where one of them is not Rust.
pub(crate) fn read_sources(files: &[PathBuf]) -> Result<Option<Vec<KernelModule>>, String> {
    let mut sources = Vec::new();
    for file in files {
        watch(file);
        let text = std::fs::read_to_string(file).map_err(|error| {
            format!("can't read `{}`: {error}; name files relative to the package's Cargo.toml", file.display())
        })?;
        let Ok(modules) = modules(&text) else { return Ok(None) };
        if modules.is_empty() {
            println!("cargo::warning=`{}` holds no `#[megakernel]` module", file.display());
        }
        let tuned_file = tuned_file(file);
        let tuned = read_tuned(&tuned_file)?;
        if tuned.is_some() {
            println!("cargo::rerun-if-changed={}", tuned_file.display());
        }
        let file = file.to_string_lossy().replace('\\', "/");
        sources.extend(modules.into_iter().map(|module| KernelModule {
            file: file.clone(),
            module,
            tuned: tuned.clone(),
        }));
    }
    Ok(Some(sources))
}

/// Tells cargo to run the build script again when a source file changes.
fn watch(file: &Path) {
    let out_dir = std::env::var_os("OUT_DIR").map(PathBuf::from);
    if is_watched(file, out_dir.as_deref()) {
        println!("cargo::rerun-if-changed={}", file.display());
    }
}

/// A file below `OUT_DIR` is written by the build script itself: it is newer than the script's last start, for ever.
fn is_watched(file: &Path, out_dir: Option<&Path>) -> bool {
    !out_dir.is_some_and(|out_dir| file.starts_with(out_dir))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_build_script_writes_is_not_watched() {
        let out_dir = Some(Path::new("/target/out"));
        assert!(!is_watched(Path::new("/target/out/layer.rs"), out_dir));
        assert!(
            is_watched(Path::new("src/layer.rs"), out_dir) && is_watched(Path::new("/target/other/layer.rs"), out_dir)
        );
        assert!(is_watched(Path::new("/target/out/layer.rs"), None));
    }
}
