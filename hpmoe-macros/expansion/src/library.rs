//! The task library in a kernel module: its `use hpmoe_runtime::tasks::{…}` and `use hpmoe_runtime::taskflows::{…}`. If the crate imports
//! `hpmoe-runtime` under another name, these paths begin with that name.

use proc_macro2::{Group, Ident, Span, TokenStream, TokenTree};
use syn::{Item, ItemUse, UseGroup, UsePath, UseTree};

/// The name of the crate `hpmoe-runtime` in a kernel module: the name of the crate from which the module imports the prelude, or
/// `hpmoe_runtime` if the module imports no prelude.
#[must_use]
pub fn runtime(items: &[Item]) -> Ident {
    const USUAL: &str = "hpmoe_runtime";
    let names: Vec<String> = items.iter().filter_map(prelude_of).collect();
    let others = || names.iter().find(|name| !matches!(name.as_str(), "crate" | "self" | "super" | "std" | "core"));
    let usual = names.iter().find(|name| *name == USUAL);
    Ident::new(usual.or_else(others).map_or(USUAL, String::as_str), Span::call_site())
}

/// The crate of `use crate_name::prelude::*` or `use crate_name::{prelude::*, …}`.
fn prelude_of(item: &Item) -> Option<String> {
    let Item::Use(ItemUse { tree: UseTree::Path(first), .. }) = item else { return None };
    let is_prelude = |tree: &UseTree| matches!(tree, UseTree::Path(path) if path.ident == "prelude" && matches!(*path.tree, UseTree::Glob(_)));
    let all = match &*first.tree {
        UseTree::Group(group) => group.items.iter().any(is_prelude),
        tree => is_prelude(tree),
    };
    all.then(|| first.ident.to_string())
}

/// Splits a `use` that imports from the prelude or the library together with other names, as in `use moe::{prelude::*, tasks::project,
/// Report}`: into one `use` for each of the modules `prelude`, `tasks` and `taskflows`, and one for the other names. Any other item stays
/// as it is.
#[must_use]
pub fn split(item: Item) -> Vec<Item> {
    let Item::Use(whole @ ItemUse { tree: UseTree::Path(first), .. }) = &item else { return vec![item] };
    let UseTree::Group(group) = &*first.tree else { return vec![item] };
    let is_module = |path: &UsePath| ["prelude", "tasks", "taskflows"].iter().any(|name| path.ident == name);
    let is_module = |tree: &&UseTree| matches!(tree, UseTree::Path(path) if is_module(path));
    let (modules, others): (Vec<&UseTree>, Vec<&UseTree>) = group.items.iter().partition(is_module);
    if modules.is_empty() {
        return vec![item];
    }
    let of_others = UseTree::Group(UseGroup { items: others.iter().copied().cloned().collect(), ..group.clone() });
    let trees = modules.into_iter().cloned().chain((!others.is_empty()).then_some(of_others));
    let with = |tree| UseTree::Path(UsePath { tree: Box::new(tree), ..first.clone() });
    trees.map(|tree| Item::Use(ItemUse { tree: with(tree), ..whole.clone() })).collect()
}

/// For a `use` of the library: the word `tasks` or `taskflows`, and the tree of imported names after it. `None` for any other item.
/// `runtime` is the name of the crate `hpmoe-runtime` in the module.
#[must_use]
pub fn used<'a>(item: &'a Item, runtime: &Ident) -> Option<(&'a Ident, &'a UseTree)> {
    let Item::Use(ItemUse { tree: UseTree::Path(first), .. }) = item else { return None };
    let UseTree::Path(second) = &*first.tree else { return None };
    let of_library = second.ident == "tasks" || second.ident == "taskflows";
    (first.ident == *runtime && of_library).then_some((&second.ident, &*second.tree))
}

/// Gives all tokens the same span, so that rustc shows faults of a library task at its name in the module.
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
