//! The front end on one screen: from a kernel module to checked graphs.

use crate::analyze::{CheckedGraph, analyze};
use crate::constant::Overrides;
use crate::finding::{Diagnostic, Errors};
use crate::lower::lower;
use crate::syntax::{Kernel, parse, with_tasks};
use syn::{Item, ItemMod};

/// A kernel module with its checked taskflows.
#[derive(Clone, Debug)]
pub struct Front {
    /// The module as written, with its constants computed.
    pub kernel: Kernel,
    /// The checked graph of each taskflow, in order of declaration.
    pub flows: Vec<CheckedGraph>,
}

/// Runs the front end on a module; macro and build script call it alike.
///
/// # Errors
///
/// All findings of the first stage that has any.
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

/// The kernel modules of a source file, also those inside of inline modules, with the tasks that they use from the library.
///
/// # Errors
///
/// If the file doesn't parse as Rust.
pub fn modules(source: &str) -> syn::Result<Vec<ItemMod>> {
    let mut kernels = Vec::new();
    collect(syn::parse_file(source)?.items, &mut kernels);
    Ok(kernels)
}

fn collect(items: Vec<Item>, kernels: &mut Vec<ItemMod>) {
    for item in items {
        let Item::Mod(mut module) = item else { continue };
        let marked = |attribute: &syn::Attribute| {
            attribute.path().segments.last().is_some_and(|segment| segment.ident == "megakernel")
        };
        if module.attrs.iter().any(marked) {
            module.attrs.retain(|attribute| !marked(attribute));
            kernels.push(with_tasks(&module));
        } else if let Some((_, items)) = module.content {
            collect(items, kernels);
        }
    }
}
