//! The user's module: markers stripped, constants resolved and asserted.

use crate::expansion::{BuiltConstant, Expansion, LibraryTask};
use crate::markers::{TASKFLOW, marker};
use crate::tokens::SourceTokens;
use crate::{launch, library};
use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens as _, quote, quote_spanned};
use syn::{Item, ItemFn, ItemMod, UseTree, parse_quote};

/// The user's module after a build without faults, with the items that are generated for each taskflow.
pub(crate) fn with_launch(module: &ItemMod, expansion: &Expansion, source: &SourceTokens) -> TokenStream {
    let runtime = runtime(module);
    let mut module = stripped(module);
    let Some((_, items)) = &mut module.content else { return module.into_token_stream() };
    items.extend(expansion.library.iter().map(|task| of_library(task, source)));
    let mut added = Vec::new();
    for item in items.iter_mut() {
        match item {
            Item::Fn(function) if expansion.runs.iter().any(|name| function.sig.ident == name) => {
                let reason = "the megakernel runs it";
                function.attrs.push(parse_quote!(#[allow(dead_code, reason = #reason)]));
            }
            Item::Const(constant) => match expansion.constants.iter().find(|built| constant.ident == built.name) {
                Some(built) if built.set => {
                    *constant.expr = built.value.clone();
                    constant.attrs.push(parse_quote!(#[allow(dead_code, reason = "the kernel was built with it")]));
                }
                Some(built) => added.push(assertion(&constant.ident, built)),
                None => {}
            },
            _ => {}
        }
    }
    for taskflow in &expansion.taskflows {
        let function = items.iter_mut().find_map(|item| match item {
            Item::Fn(function) if function.sig.ident == taskflow.name => Some(function),
            _ => None,
        });
        let Some(function) = function else { continue };
        added.push(launch::built(function, taskflow, &runtime));
        compute_as_kernels_do(function, &runtime);
    }
    items.extend(added.into_iter().map(Item::Verbatim));
    module.into_token_stream()
}

/// Makes a reference independent of the floating-point state of the thread that calls it.
fn compute_as_kernels_do(function: &mut ItemFn, runtime: &Ident) {
    let (block, arithmetic) = (&function.block, Ident::new("_arithmetic", Span::mixed_site()));
    *function.block = parse_quote!({
        let #arithmetic = ::#runtime::StandardArithmetic::begin();
        #block
    });
}

/// A `const` item that fails to compile unless rustc computes, bit for bit, the value of the constant that the kernel was built with.
fn assertion(name: &Ident, BuiltConstant { ty, value, .. }: &BuiltConstant) -> TokenStream {
    let written = value.to_token_stream().to_string().replace(' ', "");
    let text = format!("`{name}` is not the {written} that the kernel was built with");
    let is_number = matches!(ty, syn::Type::Path(path) if path.path.is_ident("f32"));
    let same = if is_number {
        quote!({
            let built: #ty = #value;
            #name.to_bits() == built.to_bits()
        })
    } else {
        quote!(#name == #value)
    };
    quote_spanned!(name.span()=> const _: () = ::core::assert!(#same, #text);)
}

fn of_library(LibraryTask { at, function }: &LibraryTask, source: &SourceTokens) -> Item {
    let tokens = library::at(function.to_token_stream(), source.ends(*at).0);
    let mut function: ItemFn = syn::parse2(tokens).expect("it was a function before its spans were changed");
    strip(&mut function);
    Item::Fn(function)
}

/// The value that replaces every open tile size in a module with faults.
const STAND_IN: usize = 16;

/// The user's module after a build with faults, so that the rest of the crate still compiles. The faulty functions and the taskflows that
/// call them have no body, so that rustc doesn't report the same faults.
pub(crate) fn stand_in(module: &ItemMod, faulty: &[String]) -> ItemMod {
    let (mut marked, mut taskflows) = (Vec::new(), Vec::new());
    if let Some((_, items)) = &module.content {
        for item in items {
            let Item::Fn(function) = item else { continue };
            let is_taskflow = function.attrs.iter().any(|attribute| marker(attribute) == Some(TASKFLOW));
            // A second item of the same name is reported elsewhere.
            if is_taskflow && !taskflows.contains(&function.sig.ident) {
                marked.push(launch::stand_in(function, &runtime(module)));
                taskflows.push(function.sig.ident.clone());
            }
        }
    }
    let runtime = runtime(module);
    let mut module = stripped(module);
    let Some((_, items)) = &mut module.content else { return module };
    if !items.iter().any(uses_all) {
        // The missing `use` would be an error at each name.
        let reason = "a fault of the module may be that it lacks this";
        items.insert(0, parse_quote!(#[allow(unused_imports, reason = #reason)] use #runtime::prelude::*;));
    }
    for item in items.iter_mut() {
        let has_faults = |name: &syn::Ident| taskflows.contains(name) || faulty.iter().any(|faulty| name == faulty);
        match item {
            Item::Fn(function) if has_faults(&function.sig.ident) => {
                function.attrs.push(parse_quote!(#[allow(unused_variables, reason = "its body has faults")]));
                // An `async` function must name lifetimes that others leave out, and would say so.
                function.sig.asyncness = None;
                *function.block = parse_quote!({ ::core::unreachable!() });
            }
            Item::Const(constant) if matches!(*constant.expr, syn::Expr::Infer(_)) => {
                let number = matches!(&*constant.ty, syn::Type::Path(path) if path.path.is_ident("f32"));
                *constant.expr = if number { parse_quote!(1.0) } else { parse_quote!(#STAND_IN) };
            }
            _ => {}
        }
    }
    items.extend(marked.into_iter().map(Item::Verbatim));
    module
}

/// Whether an item is a `use` of all names of some module.
fn uses_all(item: &Item) -> bool {
    fn has_glob(tree: &UseTree) -> bool {
        match tree {
            UseTree::Path(path) => has_glob(&path.tree),
            UseTree::Group(group) => group.items.iter().any(has_glob),
            UseTree::Glob(_) => true,
            UseTree::Name(_) | UseTree::Rename(_) => false,
        }
    }
    matches!(item, Item::Use(item) if has_glob(&item.tree))
}

fn runtime(module: &ItemMod) -> Ident {
    library::runtime(module.content.as_ref().map_or(&[][..], |(_, items)| items))
}

/// The module without its markers and without its `use` of library tasks.
fn stripped(module: &ItemMod) -> ItemMod {
    let runtime = runtime(module);
    let mut module = module.clone();
    if let Some((_, items)) = &mut module.content {
        let split = std::mem::take(items).into_iter().flat_map(library::split);
        *items = split.filter(|item| library::used(item, &runtime).is_none()).collect();
        for item in items {
            if let Item::Fn(function) = item {
                strip(function);
            }
        }
    }
    module
}

fn strip(function: &mut ItemFn) {
    let marked = function.attrs.len();
    function.attrs.retain(|attribute| marker(attribute).is_none());
    if function.attrs.len() < marked {
        function.attrs.push(parse_quote!(
            #[allow(clippy::too_many_arguments, reason = "it names every tensor, or tile, that it touches")]
        ));
    }
}
