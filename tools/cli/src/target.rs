//! The target of a command line.

use crate::options::{DieArgs, TargetChoice};
use hpmoe_build::{fit_for_kernels, read_target};
use hpmoe_core::target::Target;
use std::path::Path;

impl TargetChoice {
    /// The built-in target of that name or the file, with its constants changed.
    pub(crate) fn read(&self) -> Result<Target, String> {
        let mut target = named(&self.target)?;
        for constant in &self.constants {
            target.set(constant).map_err(|fault| format!("--constant {constant}: {fault}"))?;
        }
        Ok(target)
    }
}

impl DieArgs {
    /// The target, if kernels can be built for it.
    pub(crate) fn read(&self) -> Result<Target, String> {
        let file = Target::built_in(&self.target).is_none().then(|| Path::new(&self.target));
        fit_for_kernels(named(&self.target)?, file, self.matrix_cores)
    }
}

fn named(name: &str) -> Result<Target, String> {
    Target::built_in(name).map_or_else(|| read_target(Path::new(name)), Ok)
}
