//! The front end on one screen: from a kernel module to checked graphs.

use crate::analyze::{CheckedGraph, analyze};
use crate::constant::Overrides;
use crate::finding::{Diagnostic, Errors};
use crate::fingerprint::{Fingerprint, of_module};
use crate::lower::lower;
use crate::syntax::{Kernel, parse, with_library};
use std::fmt;
use syn::{Item, ItemMod};

/// A kernel module with its checked taskflows.
#[derive(Clone)]
pub struct Front {
    /// The module as written, with its constants computed.
    pub kernel: Kernel,
    /// The checked graph of each taskflow, in order of declaration.
    pub flows: Vec<CheckedGraph>,
    /// The fingerprint of the module's tokens and of the tasks that it uses from the library.
    pub fingerprint: Fingerprint,
}

impl fmt::Debug for Front {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Front").field("kernel", &self.kernel.name).field("flows", &self.flows).finish_non_exhaustive()
    }
}

/// Runs the front end on a module as it is written.
///
/// # Errors
///
/// All findings of the first stage that has any.
pub fn front(module: &ItemMod, overrides: &Overrides) -> Result<Front, Vec<Diagnostic>> {
    let errors = &mut Errors::default();
    let module = with_library(module);
    let kernel = parse(&module, overrides, errors);
    errors.checkpoint()?;
    let graphs: Vec<_> = kernel.flows.iter().filter_map(|flow| lower(&kernel, flow, errors)).collect();
    errors.checkpoint()?;
    let flows: Vec<_> = graphs.into_iter().filter_map(|graph| analyze(graph, errors)).collect();
    errors.checkpoint()?;
    Ok(Front { kernel, flows, fingerprint: of_module(&module) })
}

/// The kernel modules of a source file, also those inside of inline modules.
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
            kernels.push(module);
        } else if let Some((_, items)) = module.content {
            collect(items, kernels);
        }
    }
}
