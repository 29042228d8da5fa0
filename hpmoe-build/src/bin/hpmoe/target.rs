//! The target of a command line.

use crate::options::TargetChoice;
use hpmoe_build::read_target;
use hpmoe_core::target::Target;
use std::path::Path;

impl TargetChoice {
    /// The built-in target of that name or the file, with its constants changed.
    pub(crate) fn read(&self) -> Result<Target, String> {
        let name = &self.target;
        let mut target = match Target::built_in(name) {
            Some(target) => target,
            None => read_target(Path::new(name))?,
        };
        for constant in &self.constants {
            target.set(constant).map_err(|fault| format!("--constant {constant}: {fault}"))?;
        }
        Ok(target)
    }
}
