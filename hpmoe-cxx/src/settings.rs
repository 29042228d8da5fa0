//! What is the same for all files of a build script.

use std::path::Path;

/// How files are compiled: C++17 for the result, not for stepping through, whatever a user's profile says about Rust.
#[derive(Clone, Copy, Debug)]
pub struct Settings<'a> {
    /// The compiler's level of optimisation, 0 to 3.
    pub opt_level: u32,
    /// Whether the compiler warns of what it finds suspicious.
    pub warnings: bool,
    /// Folders of headers. What lies below them, down to the last file, is part of every object's identity.
    pub includes: &'a [&'a Path],
}

impl Settings<'_> {
    /// The same, for `cc`, which adds what the environment says: `CXX`, `CXXFLAGS` and their like.
    pub(crate) fn build(&self) -> cc::Build {
        let mut build = cc::Build::new();
        build
            .cpp(true)
            .std("c++17")
            .opt_level(self.opt_level)
            .debug(false)
            // Nothing may be fused: the reference computes the same bits.
            .flag("-ffp-contract=off")
            .flag("-pthread")
            .warnings(self.warnings)
            .extra_warnings(self.warnings)
            .includes(self.includes);
        build
    }
}
