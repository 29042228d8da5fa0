//! The pipeline on one screen.

use crate::analyze::{CheckedGraph, analyze};
use crate::artifacts::Artifact;
use crate::emit::{Names, Paths, ascendc, tables};
use crate::finding::{Diagnostic, Errors};
use crate::lower::lower;
use crate::program::{Program, program};
use crate::schedule::{Choices, schedule_with};
use crate::syntax::{Kernel, Overrides, parse, with_tasks};
use crate::target::Target;
use crate::validate::{Violation, validate};
use syn::{Item, ItemMod};

/// A kernel module with its checked taskflows.
#[derive(Clone, Debug)]
pub struct Front {
    /// What was read.
    pub kernel: Kernel,
    /// One per taskflow, in order of declaration.
    pub flows: Vec<CheckedGraph>,
}

/// The front end: what macro and build script run alike.
///
/// # Errors
///
/// Everything that the first faulty stage found.
pub fn front(module: &ItemMod, overrides: &Overrides) -> Result<Front, Vec<Diagnostic>> {
    let errors = &mut Errors::default();
    let kernel = parse(module, overrides, errors);
    errors.checkpoint()?;
    let graphs: Vec<_> = kernel.flows.iter().filter_map(|flow| lower(&kernel, flow, errors)).collect();
    errors.checkpoint()?;
    let flows: Vec<_> = graphs.into_iter().filter_map(|graph| analyze(graph, errors)).collect();
    errors.checkpoint()?;
    Ok(Front { kernel, flows })
}

/// The kernel modules of a source file, inline modules searched as well, with the tasks that they use from the library.
///
/// # Errors
///
/// When the file is no Rust.
pub fn modules(source: &str) -> syn::Result<Vec<ItemMod>> {
    let mut found = Vec::new();
    collect(syn::parse_file(source)?.items, &mut found);
    Ok(found)
}

fn collect(items: Vec<Item>, found: &mut Vec<ItemMod>) {
    for item in items {
        let Item::Mod(mut module) = item else { continue };
        let marked = |attribute: &syn::Attribute| {
            attribute.path().segments.last().is_some_and(|segment| segment.ident == "megakernel")
        };
        if module.attrs.iter().any(marked) {
            module.attrs.retain(|attribute| !marked(attribute));
            found.push(with_tasks(&module));
        } else if let Some((_, items)) = module.content {
            collect(items, found);
        }
    }
}

/// The back end: schedules a checked graph for a target, with choices, and writes everything that a build leaves behind.
///
/// # Errors
///
/// A text for the user where a schedule fails its validation, which is a fault of this compiler.
pub fn back(
    checked: &CheckedGraph,
    (target, choices): (&Target, &Choices),
    file: &str,
    artifact: &Artifact,
    fingerprint: &str,
) -> Result<Program, String> {
    let proposed = schedule_with(checked, target, choices);
    let valid = validate(checked, proposed).map_err(|violations| refused(checked, &violations))?;
    let names = Names { file, symbol: &artifact.symbol };
    let kernel = ascendc(checked, &valid, &names);
    let descriptors = artifact.below_out_dir("descriptors");
    let tables = tables(checked, &valid, &names, &Paths { fingerprint, descriptors: &descriptors });
    Ok(program(checked, &valid, target, artifact, &kernel, tables, fingerprint))
}

fn refused(checked: &CheckedGraph, violations: &[Violation]) -> String {
    let lines: String = violations.iter().map(|violation| format!("\n  {}", violation.text(checked))).collect();
    format!("the schedule of this taskflow fails its validation, which is a fault of hpmoe [HP90]{lines}")
}
