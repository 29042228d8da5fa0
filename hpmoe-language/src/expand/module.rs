//! The user's module: markers stripped, constants resolved and asserted.

use super::{BuiltFlow, launch};
use crate::analyze::CheckedGraph;
use crate::artifacts::Fault;
use crate::constant::{Constant, Overrides, TILE_SIZES};
use crate::front::Front;
use crate::graph::TaskGraph;
use crate::syntax::{Marker, is_library_use, open_constants, runtime};
use proc_macro2::TokenStream;
use quote::{ToTokens as _, quote, quote_spanned};
use syn::{Item, ItemMod};

/// The module of a program without faults.
pub(super) fn with_launch(
    module: &ItemMod,
    front: &Front,
    overrides: &Overrides,
    notice: impl Fn(usize) -> Result<BuiltFlow, Fault>,
) -> TokenStream {
    let runtime = runtime(module);
    let mut module = stripped(module);
    let Some((_, items)) = &mut module.content else { return module.into_token_stream() };
    let mut added = Vec::new();
    for item in items.iter_mut() {
        if let Item::Fn(function) = item
            && runs(front, &function.sig.ident.to_string())
        {
            let reason = "the megakernel runs it";
            function.attrs.push(syn::parse_quote!(#[allow(dead_code, reason = #reason)]));
        } else if let Item::Const(constant) = item {
            let name = constant.ident.to_string();
            if let Some(value) = overrides.get(&name) {
                // The value that the front end computed: a number may have been set to digits alone.
                let value = front.kernel.constants.constant(&name).unwrap_or(*value);
                *constant.expr = expression(value);
                constant.attrs.push(syn::parse_quote!(#[allow(dead_code, reason = "the kernel was built with it")]));
            } else if let Some(value) = front.kernel.constants.constant(&name) {
                let (ident, text) =
                    (&constant.ident, format!("`{name}` is not the {value} that the kernel was built with"));
                let same = match value {
                    Constant::Size(size) => quote!(#ident == #size),
                    Constant::Number(number) => {
                        let bits = number.to_bits();
                        quote!(#ident.to_bits() == #bits)
                    }
                };
                added.push(quote_spanned!(ident.span()=> const _: () = ::core::assert!(#same, #text);));
            }
        }
    }
    let mut faults = Vec::new();
    for (index, checked) in front.flows.iter().enumerate() {
        let Some(function) = taskflow(items, &checked.graph().taskflow) else { continue };
        added.push(match notice(index) {
            Ok(built) => launch::built(function, &built, &runtime),
            Err(fault) => {
                let stand_in = launch::stand_in(function, &runtime);
                // Taskflows share tasks, and their faults.
                let shown = if faults.contains(&fault) { None } else { Some(at_its_task(checked.graph(), &fault)) };
                faults.push(fault);
                quote!(#shown #stand_in)
            }
        });
    }
    items.extend(added.into_iter().map(Item::Verbatim));
    module.into_token_stream()
}

/// What tile sizes that are left open stand for in a module that no build has chosen them for.
const STAND_IN: usize = 16;

/// Values for the tile sizes that a module leaves open, to look for its other faults before it is built.
pub(super) fn open_sizes(module: &ItemMod) -> Overrides {
    let open = open_constants(module).into_iter().filter(|name| TILE_SIZES.contains(&name.as_str()));
    open.map(|name| (name, Constant::Size(STAND_IN))).collect()
}

/// A fault at the task that it belongs to, or at the taskflow.
fn at_its_task(graph: &TaskGraph, fault: &Fault) -> TokenStream {
    let mut tasks = graph.tasks.iter().map(|(_, task)| task);
    let task = fault.task.as_ref().and_then(|name| tasks.find(|task| task.name == *name));
    super::fault(task.map_or(graph.span, |task| task.span), &fault.text)
}

/// A constant as an expression; a number may have a sign.
fn expression(value: Constant) -> syn::Expr {
    syn::parse_str(&value.to_string()).expect("a constant is written as Rust")
}

/// Whether a function is a taskflow, or a task that one calls.
fn runs(front: &Front, name: &str) -> bool {
    front
        .flows
        .iter()
        .map(CheckedGraph::graph)
        .any(|graph| graph.taskflow == name || graph.tasks.iter().any(|(_, task)| task.name == name))
}

/// The module of a program with faults: the rest of the user's crate still compiles. The faulty functions and the taskflows that
/// call them have no body, so that rustc doesn't report the same faults.
pub(super) fn stand_in(module: &ItemMod, faulty: &[&str]) -> ItemMod {
    let (mut marked, mut taskflows) = (Vec::new(), Vec::new());
    if let Some((_, items)) = &module.content {
        for item in items {
            if let Item::Fn(function) = item
                && function.attrs.iter().any(|attribute| Marker::from_attribute(attribute) == Some(Marker::Flow))
            {
                marked.push(launch::stand_in(function, &runtime(module)));
                taskflows.push(function.sig.ident.clone());
            }
        }
    }
    let mut module = stripped(module);
    let Some((_, items)) = &mut module.content else { return module };
    for item in items.iter_mut() {
        if let Item::Fn(function) = item
            && (taskflows.contains(&function.sig.ident) || faulty.contains(&function.sig.ident.to_string().as_str()))
        {
            function.attrs.push(syn::parse_quote!(#[allow(unused_variables, reason = "its body has faults")]));
            // An `async` function must name lifetimes that others leave out, and would say so.
            function.sig.asyncness = None;
            *function.block = syn::parse_quote!({ ::core::unreachable!() });
        } else if let Item::Const(constant) = item
            && matches!(*constant.expr, syn::Expr::Infer(_))
        {
            let number = matches!(&*constant.ty, syn::Type::Path(path) if path.path.is_ident("f32"));
            let value = if number { Constant::Number(1.0) } else { Constant::Size(STAND_IN) };
            *constant.expr = expression(value);
        }
    }
    items.extend(marked.into_iter().map(Item::Verbatim));
    module
}

fn taskflow<'a>(items: &'a [Item], name: &str) -> Option<&'a syn::ItemFn> {
    items.iter().find_map(|item| match item {
        Item::Fn(function) if function.sig.ident == name => Some(function),
        _ => None,
    })
}

fn stripped(module: &ItemMod) -> ItemMod {
    let runtime = runtime(module).to_string();
    let mut module = module.clone();
    if let Some((_, items)) = &mut module.content {
        // One that is left has been refused.
        items.retain(|item| !is_library_use(item, &runtime));
        for item in items {
            if let Item::Fn(function) = item {
                let marked = function.attrs.len();
                function.attrs.retain(|attribute| Marker::from_attribute(attribute).is_none());
                if function.attrs.len() < marked {
                    function.attrs.push(syn::parse_quote!(
                        #[allow(clippy::too_many_arguments, reason = "it names every tensor, or tile, that it touches")]
                    ));
                }
            }
        }
    }
    module
}
