//! The target given on the command line.

use crate::options::{DieArgs, TargetChoice};
use hpmoe_build::{fit_for_kernels, read_target};
use hpmoe_core::target::Target;
use std::path::Path;

impl TargetChoice {
    /// Reads the target: a built-in one by name, or one from a file. Constants from the command line replace its own.
    pub(crate) fn read(&self) -> Result<Target, String> {
        let mut target = named(&self.target)?;
        for constant in &self.constants {
            target.set(constant).map_err(|fault| format!("--constant {constant}: {fault}"))?;
        }
        Ok(target)
    }
}

impl DieArgs {
    /// Reads the target, and checks that kernels can be built for it.
    pub(crate) fn read(&self) -> Result<Target, String> {
        let file = Target::built_in(&self.target).is_none().then(|| Path::new(&self.target));
        fit_for_kernels(named(&self.target)?, file, self.matrix_cores)
    }
}

fn named(name: &str) -> Result<Target, String> {
    Target::built_in(name).map_or_else(|| read_target(Path::new(name)), Ok)
}
