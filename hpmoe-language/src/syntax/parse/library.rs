//! Tasks of the library: replaces `use hpmoe_runtime::tasks::{…}` of a kernel module with the tasks. A crate that has
//! `hpmoe-runtime` under another name imports the prelude under that name, and the tasks too.

use crate::finding::{CallFault, Errors, Finding, NameKind, Site, SyntaxFault};
use crate::names::nearest;
use hpmoe_expansion::library::{self, at, runtime};
use hpmoe_kernels::tasks::SOURCES;
use proc_macro2::{Ident, Span, TokenStream};
use syn::{Item, ItemFn, ItemMod, UseTree};

/// The module with the library's tasks in place of its `use` of them. A `use` of a task that the library doesn't have stays,
/// and [`parse`](super::parse) refuses it.
#[must_use]
pub(crate) fn with_tasks(module: &ItemMod) -> ItemMod {
    let mut module = module.clone();
    let Some((_, items)) = &mut module.content else { return module };
    let declared: Vec<String> = items.iter().filter_map(declared).collect();
    let runtime = runtime(items);
    let mut all = Vec::with_capacity(items.len());
    for item in std::mem::take(items) {
        let functions = used(&item, &runtime).map(|used| used.iter().map(|used| used.function(&declared)).collect());
        match functions {
            Some(Some(functions)) => all.extend::<Vec<_>>(functions),
            _ => all.push(item),
        }
    }
    *items = all;
    module
}

/// Refuses the names of a `use` that the library doesn't have or the module declares, too.
pub(super) fn refuse(item: &Item, items: &[Item], errors: &mut Errors) {
    for Used { task, name } in used(item, &runtime(items)).into_iter().flatten() {
        let Some(task) = task else {
            errors.push(name.span(), Finding::Syntax(SyntaxFault::LibraryGlob));
            continue;
        };
        if source(&task).is_none() {
            let nearest = nearest(&task.to_string(), SOURCES.iter().map(|(name, _)| *name));
            errors.push(task.span(), Finding::Unknown { kind: NameKind::LibraryTask, name: task.to_string(), nearest });
        } else if items.iter().filter_map(declared).any(|other| name == other) {
            let fault = CallFault::DeclaredAndUsed { name: name.to_string(), task: task.to_string() };
            errors.push(name.span(), Finding::Call(fault));
        }
    }
}

/// A task of the library under the name that the module gives it; `task` is `None` for `*`.
struct Used {
    task: Option<Ident>,
    name: Ident,
}

impl Used {
    /// The task's function, if the library has it and the module doesn't declare its name.
    fn function(&self, declared: &[String]) -> Option<Item> {
        let text = self.task.as_ref().and_then(source).filter(|_| !declared.iter().any(|other| self.name == other))?;
        Some(Item::Fn(function(text, &self.name)))
    }
}

fn used(item: &Item, runtime: &Ident) -> Option<Vec<Used>> {
    let (word, tree) = library::used(item, runtime)?;
    let mut tasks = Vec::new();
    collect(tree, word.span(), &mut tasks);
    Some(tasks)
}

fn collect(tree: &UseTree, span: Span, tasks: &mut Vec<Used>) {
    match tree {
        UseTree::Name(name) => tasks.push(Used { task: Some(name.ident.clone()), name: name.ident.clone() }),
        UseTree::Rename(rename) => {
            tasks.push(Used { task: Some(rename.ident.clone()), name: rename.rename.clone() });
        }
        UseTree::Group(group) => group.items.iter().for_each(|tree| collect(tree, span, tasks)),
        UseTree::Path(path) => tasks.push(Used { task: Some(path.ident.clone()), name: path.ident.clone() }),
        UseTree::Glob(_) => tasks.push(Used { task: None, name: Ident::new("tasks", span) }),
    }
}

fn declared(item: &Item) -> Option<String> {
    match item {
        Item::Fn(function) => Some(function.sig.ident.to_string()),
        _ => None,
    }
}

fn source(name: &Ident) -> Option<&'static str> {
    SOURCES.iter().find(|(known, _)| name == known).map(|(_, text)| *text)
}

/// The function with the span of its name in the module on every token, so that its faults are shown there.
fn function(text: &str, name: &Ident) -> ItemFn {
    let tokens: TokenStream = text.parse().expect("the library is Rust");
    let mut function: ItemFn = syn::parse2(at(tokens, name.span())).expect("a file of the library holds one function");
    function.sig.ident = name.clone();
    function
}

/// The functions of the library in a module that has them in place of its `use`.
pub(crate) fn library_tasks(module: &ItemMod) -> impl Iterator<Item = &ItemFn> {
    let items = module.content.iter().flat_map(|(_, items)| items);
    items.filter_map(|item| match item {
        Item::Fn(function) if is_of_library(function) => Some(function),
        _ => None,
    })
}

/// Whether a function is one of the library, which has the span of its name on every token.
pub(super) fn is_of_library(function: &ItemFn) -> bool {
    Site(function.block.brace_token.span.join()) == Site(function.sig.ident.span())
}

#[cfg(test)]
mod tests {
    use super::*;
    use quote::ToTokens as _;

    fn module(text: &str) -> ItemMod {
        syn::parse_str(text).unwrap()
    }

    #[test]
    fn every_file_holds_the_task_of_its_name() {
        for (name, text) in SOURCES {
            let function: ItemFn = syn::parse_str(text).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(function.sig.ident, name);
        }
    }

    #[test]
    fn tasks_stand_where_they_are_used() {
        let used = with_tasks(&module("mod k { use hpmoe_runtime::tasks::{dispatch, project as product}; fn f() {} }"));
        let (_, items) = used.content.unwrap();
        let names: Vec<String> = items.iter().filter_map(declared).collect();
        assert_eq!(names, ["dispatch", "product", "f"]);
        assert!(items[1].to_token_stream().to_string().contains("matmul_t"));
    }

    #[test]
    fn the_crate_can_have_another_name() {
        let used = with_tasks(&module("mod k { use moe::prelude::*; use moe::tasks::dispatch; }"));
        let (_, items) = used.content.unwrap();
        assert_eq!(runtime(&items), "moe");
        assert_eq!(items.iter().filter_map(declared).collect::<Vec<_>>(), ["dispatch"]);
        let both = module("mod k { use other::prelude::*; use hpmoe_runtime::prelude::*; }");
        assert_eq!(runtime(&both.content.unwrap().1), "hpmoe_runtime");
    }

    #[test]
    fn other_uses_stay() {
        let text = "mod k { use hpmoe_runtime::prelude::*; use other::tasks::dispatch; }";
        let written = |module: ItemMod| module.to_token_stream().to_string();
        assert_eq!(written(with_tasks(&module(text))), written(module(text)));
    }
}
