//! Taskflows of a file with the choices that tuning has kept for a target, as a build takes them.

use crate::input::Input;
use hpmoe_build::{read_tuned, tuned_file};
use hpmoe_codegen::schedule::Choices;
use hpmoe_codegen::target::Target;
use hpmoe_codegen::tuned::{Tuned, overrides, shape};
use hpmoe_language::analyze::CheckedGraph;
use hpmoe_language::artifacts::parse_settings;
use hpmoe_language::front::{Front, front, modules};
use hpmoe_language::syntax::{Overrides, declared_constants};
use std::path::Path;
use syn::ItemMod;

/// A taskflow and how to schedule it.
pub(crate) struct Plan {
    pub(crate) checked: CheckedGraph,
    pub(crate) choices: Choices,
    /// Whether the choices come from the file beside the source.
    pub(crate) tuned: bool,
}

/// The taskflows of a file. Without `tuned` the file beside it is left alone.
pub(crate) fn plans(file: &Path, settings: &[String], target: &Target, tuned: bool) -> Result<Vec<Plan>, String> {
    let input = Input::of(file, settings)?;
    let kept = if tuned { read_tuned(&tuned_file(file))? } else { None };
    let found = kept.map(|kept| of_file(&input.text, settings, target, &kept)).transpose()?;
    let default = |checked| Plan { checked, choices: Choices::default(), tuned: false };
    // Faults of the kernels are told here, whatever was tuned.
    let flows = input.flows()?;
    Ok(found.unwrap_or_else(|| flows.into_iter().map(default).collect()))
}

fn of_file(text: &str, settings: &[String], target: &Target, kept: &Tuned) -> Result<Vec<Plan>, String> {
    let settings = parse_settings(&settings.join(","))?;
    let modules = modules(text).map_err(|error| error.to_string())?;
    Ok(modules.iter().flat_map(|module| of_kernel(module, &settings, target, kept)).collect())
}

/// None where the kernel has faults.
fn of_kernel(module: &ItemMod, settings: &Overrides, target: &Target, kept: &Tuned) -> Vec<Plan> {
    let own = declared_constants(module);
    let set: Overrides =
        settings.iter().filter(|(name, _)| own.contains(name)).map(|(name, value)| (name.clone(), *value)).collect();
    let Ok(Front { kernel, flows }) = front(module, &set) else { return Vec::new() };
    let found = kept.find(&kernel.name, &shape(module, &kernel), (&target.name, target.cores.aic));
    let again = found.and_then(|found| {
        let sized = front(module, &overrides(&set, &found.candidate.sizes)).ok()?;
        Some((sized.flows, &found.candidate.choices))
    });
    match again {
        Some((flows, choices)) => {
            let plan = |checked: CheckedGraph| {
                let choices = choices.get(&checked.graph().taskflow).cloned().unwrap_or_default();
                Plan { checked, choices, tuned: true }
            };
            flows.into_iter().map(plan).collect()
        }
        None => flows.into_iter().map(|checked| Plan { checked, choices: Choices::default(), tuned: false }).collect(),
    }
}
