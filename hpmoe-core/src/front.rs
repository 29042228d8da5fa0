//! The front end on one screen: from a kernel module to checked graphs.

use crate::analyze::{CheckedGraph, analyze};
use crate::constant::Overrides;
use crate::finding::{Diagnostic, Errors};
use crate::fingerprint::{Fingerprint, of_module};
use crate::lower::{chunks_to_choose, lower};
use crate::syntax::{Constants, Kernel, LoopSizes, columns, moves, names_of, parse, with_library};
use hpmoe_expansion::nesting;
use proc_macro2::TokenStream;
use std::collections::HashSet;
use std::fmt;
use std::ops::Range;
use syn::{Item, ItemConst, ItemMod};

/// A kernel module with its checked taskflows.
#[derive(Clone)]
pub struct Front {
    /// The kernel with the tasks of the library that it calls, and with its constants computed.
    pub kernel: Kernel,
    /// The checked graph of each taskflow, in order of declaration.
    pub flows: Vec<CheckedGraph>,
    /// The fingerprint of the module's tokens and of the tasks that it uses from the library.
    pub fingerprint: Fingerprint,
}

impl Front {
    /// Adds numbers of ranks that schedules will be made for, besides those that divide the experts.
    #[must_use]
    pub fn for_ranks(mut self, ranks: &[u32]) -> Self {
        self.flows.iter_mut().for_each(|flow| flow.name_ranks(ranks));
        self
    }
}

impl fmt::Debug for Front {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Front").field("kernel", &self.kernel.name).field("flows", &self.flows).finish_non_exhaustive()
    }
}

/// A kernel module that has been read once, and can be checked with different values of its constants.
pub struct ReadModule {
    /// The module with the functions of the library that it uses.
    module: ItemMod,
    /// The kernel, with the constants of the latest check.
    kernel: Kernel,
    constants: Vec<ItemConst>,
    faults: Errors,
    /// Faults that are reported only if there are no others.
    moves: Errors,
    fingerprint: Fingerprint,
}

impl fmt::Debug for ReadModule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReadModule").field("kernel", &self.kernel.name).finish_non_exhaustive()
    }
}

impl ReadModule {
    /// Reads a module as it is written, with the functions of the library that it uses. [`check`](Self::check) reports its faults.
    #[must_use]
    pub fn new(module: &ItemMod) -> Self {
        let mut faults = Errors::default();
        let module = with_library(module);
        let (kernel, constants) = parse(&module, &mut faults);
        let mut moved = Errors::default();
        moves(&module, &kernel, &mut moved);
        columns(&module, &kernel, &mut moved);
        let fingerprint = of_module(&module);
        Self { module, kernel, constants, faults, moves: moved, fingerprint }
    }

    /// The names that each taskflow depends on, in order of declaration.
    pub(crate) fn names(&self) -> Vec<HashSet<String>> {
        names_of(&self.module, self.kernel.flows.iter().map(|flow| flow.name.as_str()))
    }

    /// The value of a `usize` constant, with the constants that a build sets; `None` if the constant is not a `usize`, is not declared or
    /// can't be computed.
    #[must_use]
    pub fn constant(&self, name: &str, overrides: &Overrides) -> Option<usize> {
        self.computed(overrides, &mut Errors::default()).get(name)
    }

    /// The sizes in the heads of all loops, with the constants that a build sets; `None` if a size can't be computed.
    pub(crate) fn loop_sizes(&self, overrides: &Overrides) -> Option<LoopSizes> {
        LoopSizes::of(&self.kernel.flows, &self.computed(overrides, &mut Errors::default()))
    }

    fn computed(&self, overrides: &Overrides, errors: &mut Errors) -> Constants {
        let declared: Vec<&ItemConst> = self.constants.iter().collect();
        Constants::compute(&declared, overrides, errors)
    }

    /// Computes the constants, with the values that a build sets, and checks the taskflows with them, in order of
    /// declaration.
    ///
    /// # Errors
    ///
    /// All findings of the first stage that has any.
    pub fn check(&mut self, overrides: &Overrides) -> Result<Vec<CheckedGraph>, Vec<Diagnostic>> {
        self.check_some(0..self.kernel.flows.len(), overrides)
    }

    /// Like [`check`](Self::check), for one taskflow; `None` if the taskflow, or anything that all taskflows share, has faults.
    pub(crate) fn check_one(&mut self, flow: usize, overrides: &Overrides) -> Option<CheckedGraph> {
        self.check_some(flow..flow + 1, overrides).ok()?.pop()
    }

    fn check_some(&mut self, flows: Range<usize>, overrides: &Overrides) -> Result<Vec<CheckedGraph>, Vec<Diagnostic>> {
        let errors = &mut self.faults.clone();
        self.kernel.constants = self.computed(overrides, errors);
        errors.checkpoint()?;
        let kernel = &self.kernel;
        chunks_to_choose(kernel, errors);
        let graphs: Vec<_> = kernel.flows[flows].iter().filter_map(|flow| lower(kernel, flow, errors)).collect();
        errors.checkpoint()?;
        let flows: Vec<_> = graphs.into_iter().filter_map(|graph| analyze(graph, errors)).collect();
        errors.checkpoint()?;
        self.moves.clone().checkpoint()?;
        Ok(flows)
    }
}

/// Runs the front end on a module as it is written.
///
/// # Errors
///
/// All findings of the first stage that has any.
pub fn front(module: &ItemMod, overrides: &Overrides) -> Result<Front, Vec<Diagnostic>> {
    let mut module = ReadModule::new(module);
    let flows = module.check(overrides)?;
    Ok(Front { kernel: module.kernel, flows, fingerprint: module.fingerprint })
}

/// The kernel modules of a source file, including modules nested in inline modules, each without its `#[megakernel]` attribute.
///
/// # Errors
///
/// If the file doesn't parse as Rust, or is [nested too deep](too_deep).
pub fn modules(source: &str) -> syn::Result<Vec<ItemMod>> {
    if let Some(error) = too_deep(source) {
        return Err(error);
    }
    let mut kernels = Vec::new();
    collect(syn::parse_file(source)?.items, &mut kernels);
    Ok(kernels)
}

/// The error of a source that is nested deeper than can be read, at its place. `None` if the source is not nested too deeply, or can't be
/// split into tokens.
#[must_use]
pub fn too_deep(source: &str) -> Option<syn::Error> {
    // Text that has no tokens is not nested; the parser reports it.
    let tokens: TokenStream = source.parse().ok()?;
    nesting::too_deep(&tokens).map(|place| syn::Error::new(place, nesting::TOO_DEEP))
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
