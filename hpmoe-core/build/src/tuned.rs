//! The file next to a kernel's source that holds the schedules found by `hpmoe tune`.

use hpmoe_core::front::{Front, front};
use hpmoe_core::syntax::{Overrides, declared_constants, is_derived};
use hpmoe_core::target::{FileFault, Target};
use hpmoe_core::tuned::{
    BuildSizes, Candidate, NamedSizes, OtherSize, Tuned, TunedKernel, overrides, set_sizes, shape, sizes,
};
use std::path::{Path, PathBuf};
use syn::ItemMod;

/// The file for the kernels of a source file: `src/moe.tuned.toml` for `src/moe.rs`.
#[must_use]
pub fn tuned_file(source: &Path) -> PathBuf {
    source.with_extension("tuned.toml")
}

/// Reads a file of tuned schedules; `None` if it does not exist.
///
/// # Errors
///
/// If the file exists but can't be read, or has faults. The text then lists the faults line by line.
pub fn read_tuned(file: &Path) -> Result<Option<Tuned>, String> {
    let name = file.display();
    let text = match std::fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(format!("can't read `{name}`: {error}")),
    };
    let words = |faults: Vec<FileFault>| {
        let lines: Vec<String> = faults.iter().map(|fault| format!("`{name}`, {fault}")).collect();
        format!("{}\nhelp: correct it, or delete it and run `hpmoe tune` again", lines.join("\n       "))
    };
    Tuned::read(&text).map(Some).map_err(words)
}

/// The entry for one kernel in a file of tuned schedules.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Kept {
    /// The file has no entry for these constants on this target with its number of matrix cores.
    Nothing,
    /// All entries for these constants on this target were found with other tile sizes than those of the build: those of the first entry.
    OtherSizes(Vec<OtherSize>),
    /// The entry's tile sizes no longer fit the kernel.
    Outdated,
    /// The entry fits, and a build uses it.
    Fits(TunedBuild),
}

/// A tuned schedule, and the constants that it changes in its kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TunedBuild {
    /// The tile sizes and choices that tuning found.
    pub candidate: Candidate,
    /// The constants of the source that the build gives other values because of the tuned sizes, in the order of their names. Open sizes
    /// and constants that the build sets are not among them.
    pub replaced: Vec<ReplacedConstant>,
}

/// A constant of a kernel that a tuned schedule replaces.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReplacedConstant {
    /// Name of the constant.
    pub name: String,
    /// The value in the source.
    pub written: usize,
    /// The value that the kernel is built with.
    pub tuned: usize,
}

impl Kept {
    /// The reason why a build uses the default schedule, in words that follow the file's name; `None` if it uses the file's.
    #[must_use]
    pub fn default_because(&self) -> Option<String> {
        let list = |sizes: &[OtherSize], value: fn(&OtherSize) -> usize| {
            sizes.iter().map(|size| format!("{} = {}", size.name, value(size))).collect::<Vec<_>>().join(", ")
        };
        match self {
            Self::Nothing => Some("has no schedule for these constants".to_owned()),
            Self::OtherSizes(sizes) => Some(format!(
                "has no schedule found with {} (one was found with {})",
                list(sizes, |size| size.given),
                list(sizes, |size| size.found)
            )),
            Self::Outdated => Some("has tile sizes that the kernel can't have any more".to_owned()),
            Self::Fits(_) => None,
        }
    }
}

impl TunedBuild {
    /// The replaced constants as readable text, separated by commas: `TILE_M = 64 (in the source: 128)`. Empty if the schedule replaces
    /// none.
    #[must_use]
    pub fn replaced_text(&self) -> String {
        let text = |constant: &ReplacedConstant| {
            format!("{} = {} (in the source: {})", constant.name, constant.tuned, constant.written)
        };
        self.replaced.iter().map(text).collect::<Vec<_>>().join(", ")
    }
}

/// Looks up the entry of `tuned` for a kernel whose build sets the constants `set` and has chosen the sizes `open`. Without an
/// entry, the result is [`Kept::Nothing`]; it is `None` only if the kernel itself has faults.
///
/// The first entry that was found with the tile sizes of the build, and that still fits the kernel, is used. A size that the search of the
/// entry has chosen replaces a size that the build leaves open or to the source. Sizes that an entry doesn't name may have any value.
#[must_use]
pub fn kept_for(
    tuned: &Tuned,
    module: &ItemMod,
    (set, open): (&Overrides, &NamedSizes),
    target: &Target,
) -> Option<Kept> {
    let Front { kernel, .. } = front(module, &overrides(set, open)).ok()?;
    let shape = shape(module, &kernel);
    let given = BuildSizes { set: &set_sizes(set), all: &sizes(module, &kernel) };
    let declared = declared_constants(module);
    let looked_up = |known: &TunedKernel| {
        let others = known.other_sizes(given);
        if !others.is_empty() {
            return Kept::OtherSizes(others);
        }
        let candidate = known.candidate.clone();
        let fits = candidate.sizes.keys().all(|name| declared.contains(name) && !is_derived(module, name))
            && front(module, &overrides(set, &with_tuned(open, &candidate.sizes))).is_ok();
        if !fits {
            return Kept::Outdated;
        }
        let not_set = candidate.sizes.iter().filter(|(name, _)| !set.contains(name) && !open.contains_key(*name));
        let replaced = not_set.filter_map(|(name, &tuned)| {
            let written = kernel.constants.get(name).filter(|&written| written != tuned)?;
            Some(ReplacedConstant { name: name.clone(), written, tuned })
        });
        Kept::Fits(TunedBuild { replaced: replaced.collect(), candidate })
    };
    let mut because = Kept::Nothing;
    for known in tuned.for_shape(&kernel.name, &shape, &target.name, target.cores.aic) {
        match looked_up(known) {
            fits @ Kept::Fits(_) => return Some(fits),
            reason if because == Kept::Nothing || reason == Kept::Outdated => because = reason,
            _ => {}
        }
    }
    Some(because)
}

/// All sizes of `open` and of `tuned`. If a name is in both, the size of `tuned` is used.
#[must_use]
pub fn with_tuned(open: &NamedSizes, tuned: &NamedSizes) -> NamedSizes {
    open.iter().chain(tuned).map(|(name, &size)| (name.clone(), size)).collect()
}
