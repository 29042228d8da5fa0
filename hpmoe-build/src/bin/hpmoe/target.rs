//! The target of a command line.

use crate::options::TargetChoice;
use hpmoe_core::target::{Fault, Target};

impl TargetChoice {
    /// The built-in target of that name or the file, with its constants changed.
    pub(crate) fn read(&self) -> Result<Target, String> {
        let name = &self.target;
        let text = match Target::text_of(name) {
            Some(text) => text.to_owned(),
            None => std::fs::read_to_string(name)
                .map_err(|error| format!("target `{name}` is neither built in (ascend-a3) nor a file: {error}"))?,
        };
        let words = |faults: Vec<Fault>| {
            let lines: Vec<String> = faults.iter().map(|fault| format!("{name}: {fault}")).collect();
            lines.join("\n       ")
        };
        let mut target = Target::read(&text).map_err(words)?;
        for constant in &self.constants {
            target.set(constant).map_err(|fault| format!("--constant {constant}: {fault}"))?;
        }
        Ok(target)
    }
}
