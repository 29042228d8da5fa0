//! What is the same for all files of a build script.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// How files are compiled: C++17 for the result, not for stepping through, whatever a user's profile says about Rust.
#[derive(Clone, Copy, Debug)]
pub struct Settings<'a> {
    /// Whether the compiler warns of what it finds suspicious.
    pub warnings: bool,
    /// Folders of headers. What lies below them, down to the last file, is part of every object's identity.
    pub includes: &'a [&'a Path],
    /// Macros, each with what it stands for.
    pub macros: &'a [(&'a str, &'a str)],
}

impl Settings<'_> {
    /// The same, for `cc`, which adds what the environment says: `CXX`, `CXXFLAGS` and their like.
    pub(crate) fn build(&self) -> cc::Build {
        let mut build = cc::Build::new();
        build
            .cpp(true)
            .std("c++17")
            .opt_level(1)
            .debug(false)
            // With vectors, which level 1 leaves out, loops are as fast as at level 2, which takes half as long again to compile.
            .flag("-ftree-vectorize")
            .flag_if_supported("-fvect-cost-model=dynamic")
            // Nothing may be fused: the reference computes the same bits.
            .flag("-ffp-contract=off")
            .flag("-pthread")
            .warnings(self.warnings)
            .extra_warnings(self.warnings);
        for (name, text) in self.macros {
            build.define(name, *text);
        }
        build
    }

    /// Where this machine has the headers, and what objects call those folders: the same wherever they lie.
    pub(crate) fn places(&self) -> Vec<OsString> {
        let place = |folder: &&Path| {
            let name = [folder.parent().and_then(Path::file_name), folder.file_name()];
            let name: PathBuf = name.into_iter().flatten().collect();
            [OsString::from("-I"), folder.into(), called(folder, &name)]
        };
        self.includes.iter().flat_map(place).collect()
    }
}

/// The flag by which a compiler writes another name of a folder into an object: g++ 8 and clang++ 10 have it.
pub(crate) fn called(folder: &Path, name: &Path) -> OsString {
    let mut flag = OsString::from("-ffile-prefix-map=");
    flag.push(folder);
    flag.push("=");
    flag.push(name);
    flag
}
