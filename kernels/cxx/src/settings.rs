//! The settings that all files of a build script share.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The goal of optimization.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effort {
    /// A quick build. Compilation takes half as long as for [`Effort::Run`]. Code that mainly calls a library, as kernels do,
    /// runs nearly as fast as with [`Effort::Run`].
    Build,
    /// A quick run: loops over data are vectorized.
    Run,
    /// The quickest run, for code that is compiled once for all kernels. Compilation takes 1.5 times as long as for [`Effort::Run`].
    Library,
}

impl Effort {
    /// The effort for kernels, according to cargo's profile: [`Effort::Build`] if the profile's `opt-level` is 0, [`Effort::Run`]
    /// otherwise.
    #[must_use]
    pub fn of_kernels() -> Self {
        Self::of_kernels_at(level().as_deref())
    }

    /// The effort for the library that does the kernels' work, according to cargo's profile: [`Effort::Run`] if the profile's
    /// `opt-level` is 0, [`Effort::Library`] otherwise. Both vectorize loops, without which a run takes minutes instead of
    /// seconds.
    #[must_use]
    pub fn of_library() -> Self {
        Self::of_library_at(level().as_deref())
    }

    fn of_kernels_at(level: Option<&str>) -> Self {
        if level == Some("0") { Self::Build } else { Self::Run }
    }

    fn of_library_at(level: Option<&str>) -> Self {
        if level == Some("0") { Self::Run } else { Self::Library }
    }
}

/// The level of optimization of cargo's profile.
fn level() -> Option<String> {
    std::env::var("OPT_LEVEL").ok()
}

/// Settings for the compilation of files, which are always C++17 and without debug information.
#[derive(Clone, Copy, Debug)]
pub struct Settings<'a> {
    /// Whether the compiler reports warnings.
    pub warnings: bool,
    /// Folders of headers. The contents of all `.h` files below these folders are part of every object's identity.
    pub includes: &'a [&'a Path],
    /// Macros: names and definitions.
    pub macros: &'a [(&'a str, &'a str)],
    /// The goal of optimization.
    pub effort: Effort,
}

impl Settings<'_> {
    /// These settings for `cc`, which adds settings from the environment: `CXX`, `CXXFLAGS` and so on.
    pub(crate) fn build(&self) -> cc::Build {
        let mut build = cc::Build::new();
        build
            .cpp(true)
            .std("c++17")
            .debug(false)
            .flag("-pthread")
            .warnings(self.warnings)
            .extra_warnings(self.warnings);
        match self.effort {
            Effort::Build => build.opt_level(0),
            // With vectors, which level 1 leaves out, loops are as fast as at level 2.
            Effort::Run => build.opt_level(1).flag("-ftree-vectorize").flag_if_supported("-fvect-cost-model=dynamic"),
            Effort::Library => {
                build.opt_level(2).flag("-ftree-vectorize").flag_if_supported("-fvect-cost-model=dynamic")
            }
        };
        for (name, text) in self.macros {
            build.define(name, *text);
        }
        build
    }

    /// The flags that name the folders of headers on this machine, and that give these folders names in objects that are the same on every
    /// machine.
    pub(crate) fn places(&self) -> Vec<OsString> {
        let place = |folder: &&Path| {
            let name = [folder.parent().and_then(Path::file_name), folder.file_name()];
            let name: PathBuf = name.into_iter().flatten().collect();
            [OsString::from("-I"), folder.into(), called(folder, &name)]
        };
        self.includes.iter().flat_map(place).collect()
    }
}

/// The flag that makes a compiler write `name` into objects instead of `folder`. g++ 8 and clang++ 10 have it.
pub(crate) fn called(folder: &Path, name: &Path) -> OsString {
    let mut flag = OsString::from("-ffile-prefix-map=");
    flag.push(folder);
    flag.push("=");
    flag.push(name);
    flag
}

#[cfg(test)]
mod tests {
    use super::{Effort, Settings};
    use crate::arithmetic::arithmetic;

    #[test]
    fn profiles_that_leave_rust_as_it_is_build_quickly() {
        assert_eq!(Effort::of_kernels_at(Some("0")), Effort::Build);
        assert_eq!(Effort::of_library_at(Some("0")), Effort::Run);
        for level in [None, Some("1"), Some("3"), Some("s")] {
            assert_eq!(Effort::of_kernels_at(level), Effort::Run, "{level:?}");
            assert_eq!(Effort::of_library_at(level), Effort::Library, "{level:?}");
        }
    }

    #[test]
    fn loops_have_vectors_where_the_run_counts() {
        for (effort, vectors) in [(Effort::Build, false), (Effort::Run, true)] {
            let mut build = Settings { warnings: false, includes: &[], macros: &[], effort }.build();
            let build =
                build.host("x86_64-unknown-linux-gnu").target("x86_64-unknown-linux-gnu").out_dir(std::env::temp_dir());
            let tool = build.get_compiler();
            let has = |flag: &str| tool.args().iter().any(|argument| argument == flag);
            assert_eq!((has("-ftree-vectorize"), has("-O1"), has("-O0")), (vectors, vectors, !vectors));
            assert_eq!(
                arithmetic(&tool).iter().rfind(|flag| flag.starts_with("-ffp-contract")),
                Some(&"-ffp-contract=off")
            );
        }
    }
}
