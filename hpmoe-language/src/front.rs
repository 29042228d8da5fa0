//! The front end on one screen: from a kernel module to checked graphs.

use crate::analyze::{CheckedGraph, analyze};
use crate::finding::{Diagnostic, Errors};
use crate::lower::lower;
use crate::syntax::{Kernel, Overrides, parse, with_tasks};
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
