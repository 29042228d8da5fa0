//! The macro's input for each module, written after everything has been compiled.

use crate::files;
use hpmoe_core::artifacts::Fault;
use hpmoe_core::expansion::TaskflowToTell;
use hpmoe_expansion::expansion::{self, Expansion};
use std::path::Path;
use syn::ItemMod;

/// The facts about a module before its kernels are compiled.
pub(crate) struct ModuleToTell {
    /// The name of the file that the macro reads.
    pub(crate) file: String,
    pub(crate) expansion: Expansion,
    pub(crate) taskflows: Vec<TaskflowToTell>,
}

impl ModuleToTell {
    pub(crate) fn new(module: &ItemMod, expansion: Expansion) -> Self {
        Self { file: expansion::file(module), expansion, taskflows: Vec::new() }
    }
}

/// The variable that cargo sets for build scripts of packages that depend on `hpmoe-c`.
const EXPORTS: &str = "DEP_HPMOE_C_EXPORTS";

/// Writes the macro's file of each module, including the results that compilers left in `folder`.
pub(crate) fn write(modules: Vec<ModuleToTell>, folder: &Path) -> Result<(), String> {
    for ModuleToTell { file, mut expansion, taskflows } in modules {
        for mut taskflow in taskflows {
            let left = |ending: &str| std::fs::read_to_string(folder.join(format!("{}.{ending}", taskflow.built.stem)));
            if let Ok(fault) = left("fault") {
                let fault = taskflow.fault(Fault::read(&fault));
                // Taskflows share tasks, and their faults.
                if !expansion.faults.contains(&fault) {
                    expansion.faults.push(fault);
                }
            }
            taskflow.built.for_device = left("device").is_ok();
            taskflow.built.exported = std::env::var_os(EXPORTS).is_some();
            expansion.taskflows.push(taskflow.built);
        }
        files::write(&folder.join(file), &expansion.write())?;
    }
    Ok(())
}
