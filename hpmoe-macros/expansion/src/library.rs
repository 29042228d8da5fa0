//! The library as a kernel module names it: `use hpmoe_runtime::tasks::{…}` and `use hpmoe_runtime::taskflows::{…}`, or by another
//! name that the crate has for `hpmoe-runtime`.

use proc_macro2::{Group, Ident, Span, TokenStream, TokenTree};
use syn::{Item, ItemUse, UseTree};

/// The name of the crate `hpmoe-runtime` in a kernel module: the crate from which the module imports the prelude.
#[must_use]
pub fn runtime(items: &[Item]) -> Ident {
    const USUAL: &str = "hpmoe_runtime";
    let names: Vec<String> = items.iter().filter_map(prelude_of).collect();
    let others = || names.iter().find(|name| !matches!(name.as_str(), "crate" | "self" | "super" | "std" | "core"));
    let usual = names.iter().find(|name| *name == USUAL);
    Ident::new(usual.or_else(others).map_or(USUAL, String::as_str), Span::call_site())
}

/// The crate of `use crate_name::prelude::*`.
fn prelude_of(item: &Item) -> Option<String> {
    let Item::Use(ItemUse { tree: UseTree::Path(first), .. }) = item else { return None };
    let UseTree::Path(second) = &*first.tree else { return None };
    let all = matches!(*second.tree, UseTree::Glob(_)) && second.ident == "prelude";
    all.then(|| first.ident.to_string())
}

/// The library functions that an item imports, if it is a `use` of the library: the word `tasks` or `taskflows`, and the tree after
/// it. `runtime` is the crate's name.
#[must_use]
pub fn used<'a>(item: &'a Item, runtime: &Ident) -> Option<(&'a Ident, &'a UseTree)> {
    let Item::Use(ItemUse { tree: UseTree::Path(first), .. }) = item else { return None };
    let UseTree::Path(second) = &*first.tree else { return None };
    let of_library = second.ident == "tasks" || second.ident == "taskflows";
    (first.ident == *runtime && of_library).then_some((&second.ident, &*second.tree))
}

/// The tokens with the same span on each of them, so that faults in a library task are shown at its name in the module.
#[must_use]
pub fn at(tokens: TokenStream, span: Span) -> TokenStream {
    let moved = |token| match token {
        TokenTree::Group(group) => {
            let mut moved = Group::new(group.delimiter(), at(group.stream(), span));
            moved.set_span(span);
            TokenTree::Group(moved)
        }
        mut other => {
            other.set_span(span);
            other
        }
    };
    tokens.into_iter().map(moved).collect()
}
