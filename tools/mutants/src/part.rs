//! The parts of the project whose code is changed.

use clap::ValueEnum;

/// A part of the project.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Part {
    /// Analysis, schedule and validation.
    Compiler,
    /// Placements of experts and their planner.
    Placement,
}

impl Part {
    /// The package whose code is changed, and whose tests judge it.
    pub(crate) fn package(self) -> &'static str {
        match self {
            Self::Compiler => "hpmoe-core",
            Self::Placement => "hpmoe-kernels",
        }
    }

    /// The folder of the package whose code is changed.
    pub(crate) fn folder(self) -> &'static str {
        match self {
            Self::Compiler => "hpmoe-core",
            Self::Placement => "kernels",
        }
    }

    /// The name of the folder of its results.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Compiler => "compiler",
            Self::Placement => "placement",
        }
    }

    /// Folders whose code is changed.
    fn mutated(self) -> &'static [&'static str] {
        match self {
            Self::Compiler => &["hpmoe-core/src/analyze/", "hpmoe-core/src/schedule/", "hpmoe-core/src/validate/"],
            Self::Placement => &["kernels/src/placement/"],
        }
    }

    /// Files of these folders that are left out: texts, and code that only tests use.
    fn left_out(self) -> &'static [&'static str] {
        match self {
            Self::Compiler => &[
                "/broken.rs",
                "/execute/",
                "/fuzz/",
                "/kernels.rs",
                "/optimum.rs",
                "/programs.rs",
                "/tests.rs",
                "/tests/",
                "/violation.rs",
                "/words.rs",
            ],
            Self::Placement => &["/error.rs", "/replay.rs", "/tests.rs", "/time.rs"],
        }
    }

    /// Whether the code of a file is changed.
    pub(crate) fn changes(self, path: &str) -> bool {
        self.mutated().iter().any(|folder| path.starts_with(folder))
            && !self.left_out().iter().any(|part| path.contains(part))
    }

    /// Whether a test is not used to judge mutants: it reads the sources, which differ in the copy; it tests the validator itself, at great
    /// cost; or it tests another part.
    pub(crate) fn skips(self, test: &str) -> bool {
        match self {
            Self::Compiler => ["boundaries::", "layers::", "loops::", "validate::fuzz::"]
                .iter()
                .any(|module| test.starts_with(module)),
            Self::Placement => !test.starts_with("placement::"),
        }
    }
}
