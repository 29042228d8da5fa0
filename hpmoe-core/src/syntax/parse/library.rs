//! Tasks and taskflows of the library. Replaces `use hpmoe_runtime::tasks::{…}` and `use hpmoe_runtime::taskflows::{…}` of a kernel module
//! by the functions that they name and all functions that these call. A crate that imports the prelude under another name of
//! `hpmoe-runtime` uses that name here, too.

use super::known_flows::called;
use crate::finding::{CallFault, Errors, Finding, NameKind, Site, SyntaxFault};
use crate::names::nearest;
use hpmoe_expansion::library::{self, at, runtime};
use hpmoe_kernels::{helpers, taskflows, tasks};
use proc_macro2::{Group, Ident, TokenStream, TokenTree};
use syn::{Item, ItemFn, ItemMod, UseTree};

/// The module with the library's functions in place of its `use` of them. A `use` that names a function which the library doesn't have
/// stays, and [`parse`](super::parse) refuses it.
#[must_use]
pub(crate) fn with_library(module: &ItemMod) -> ItemMod {
    let mut module = module.clone();
    let Some((_, items)) = &mut module.content else { return module };
    let runtime = runtime(items);
    let split: Vec<Item> = std::mem::take(items).into_iter().flat_map(library::split).collect();
    let mut names = Names { declared: split.iter().filter_map(declared).collect(), used: Vec::new() };
    let known = |item: &Item, names: &Names| -> Vec<Used> {
        used(item, &runtime).into_iter().flatten().filter(|used| names.has(used)).collect()
    };
    names.used = split.iter().flat_map(|item| known(item, &names)).collect();
    let mut all = Vec::with_capacity(split.len());
    for item in split {
        let functions = known(&item, &names);
        let whole = used(&item, &runtime).is_some_and(|used| used.len() == functions.len());
        all.extend(functions.iter().flat_map(|used| names.functions(used)).map(Item::Fn));
        if !whole {
            all.push(item);
        }
    }
    *items = all;
    module
}

/// The names of functions in a module while library functions are added.
struct Names {
    /// Functions that the module declares.
    declared: Vec<String>,
    /// Functions of the library: those that the module names, then the tasks that its taskflows call and the helper functions that tasks
    /// call.
    used: Vec<Used>,
}

impl Names {
    /// Whether the library has the function, and the module does not declare a function of that name.
    fn has(&self, used: &Used) -> bool {
        used.source().is_some() && !self.declared.iter().any(|other| used.name == other)
    }

    /// A function of the library, preceded by the functions that it calls and that the module doesn't have yet.
    fn functions(&mut self, used: &Used) -> Vec<ItemFn> {
        let text = used.source().expect("the library has the function");
        let tokens: TokenStream = text.parse().expect("the library is Rust");
        if used.taskflow {
            let tasks = called(&function(tokens.clone(), &used.name).block.stmts);
            self.with(tokens, &used.name, tasks, tasks::SOURCES)
        } else {
            self.task(tokens, &used.name)
        }
    }

    /// A task or a helper function under this name, preceded by the helper functions that it calls.
    fn task(&mut self, tokens: TokenStream, name: &Ident) -> Vec<ItemFn> {
        let mut calls = Vec::new();
        helpers_in(tokens.clone(), &mut calls);
        self.with(tokens, name, calls, helpers::SOURCES)
    }

    /// A function under this name, preceded by the functions of `sources` that it calls.
    fn with(
        &mut self,
        tokens: TokenStream,
        name: &Ident,
        calls: Vec<String>,
        sources: &[(&str, &'static str)],
    ) -> Vec<ItemFn> {
        let mut functions = Vec::new();
        let mut renamed = Vec::new();
        for call in calls {
            let (own, is_new) = self.called(&call, name);
            if is_new {
                let (_, text) = sources
                    .iter()
                    .find(|(known, _)| *known == call)
                    .expect("the library has each function that it calls");
                functions.extend(self.task(text.parse().expect("the library is Rust"), &own));
            }
            renamed.push((call, own));
        }
        functions.push(function(with_names(tokens, &renamed), name));
        functions
    }

    /// The name of a called library function in this module, and whether the function must still be added. The name is the function's own,
    /// unless that means something else in the module.
    fn called(&mut self, callee: &str, caller: &Ident) -> (Ident, bool) {
        let mut number = 0;
        loop {
            let name = match number {
                0 => callee.to_owned(),
                1 => format!("{caller}_{callee}"),
                _ => format!("{caller}_{callee}_{number}"),
            };
            number += 1;
            if self.declared.contains(&name) {
                continue;
            }
            let name = Ident::new(&name, caller.span());
            match self.used.iter().find(|used| used.name == name) {
                Some(used) if !used.taskflow && used.function.as_ref().is_some_and(|function| function == callee) => {
                    return (name, false);
                }
                Some(_) => {}
                None => {
                    let function = Some(Ident::new(callee, caller.span()));
                    self.used.push(Used { taskflow: false, function, name: name.clone() });
                    return (name, true);
                }
            }
        }
    }
}

/// The helper functions of the library that a function calls, each once.
fn helpers_in(tokens: TokenStream, calls: &mut Vec<String>) {
    let mut own = false; // `fn name` and `.name` are not calls of it
    for token in tokens {
        match &token {
            TokenTree::Group(group) => helpers_in(group.stream(), calls),
            TokenTree::Ident(name) if !own => {
                let name = name.to_string();
                if helpers::SOURCES.iter().any(|(known, _)| *known == name) && !calls.contains(&name) {
                    calls.push(name);
                }
            }
            _ => {}
        }
        own = matches!(&token, TokenTree::Punct(punct) if punct.as_char() == '.')
            || matches!(&token, TokenTree::Ident(word) if word == "fn");
    }
}

/// The tokens with the names of called functions replaced.
fn with_names(tokens: TokenStream, names: &[(String, Ident)]) -> TokenStream {
    let named = |token| match token {
        TokenTree::Group(group) => TokenTree::Group(Group::new(group.delimiter(), with_names(group.stream(), names))),
        TokenTree::Ident(name) => {
            let other = names.iter().find(|(task, _)| name == task).map(|(_, other)| other.clone());
            TokenTree::Ident(other.unwrap_or(name))
        }
        other => other,
    };
    tokens.into_iter().map(named).collect()
}

/// Refuses the names in a `use` that the library doesn't have, or that the module also declares.
pub(super) fn refuse(item: &Item, items: &[Item], errors: &mut Errors) {
    // Functions that came with a taskflow of the library are not declarations of the module.
    let of_library = |item: &Item| matches!(item, Item::Fn(function) if is_of_library(function));
    let own: Vec<String> = items.iter().filter(|item| !of_library(item)).filter_map(declared).collect();
    let runtime = runtime(items);
    for used in used(item, &runtime).into_iter().flatten() {
        let Used { taskflow, function: Some(function), name } = &used else {
            errors.push(used.name.span(), Finding::Syntax(SyntaxFault::LibraryGlob));
            continue;
        };
        if used.source().is_none() {
            let kind = if *taskflow { NameKind::LibraryTaskflow } else { NameKind::LibraryTask };
            let nearest = nearest(&function.to_string(), sources(*taskflow).iter().map(|(name, _)| *name));
            errors.push(function.span(), Finding::Unknown { kind, name: function.to_string(), nearest });
        } else if own.iter().any(|other| name == other) {
            let fault = CallFault::DeclaredAndUsed { name: name.to_string(), task: function.to_string() };
            errors.push(name.span(), Finding::Call(fault));
        }
    }
}

/// A task or taskflow of the library, with the name that the module gives it; `function` is `None` for `*`.
struct Used {
    taskflow: bool,
    function: Option<Ident>,
    name: Ident,
}

impl Used {
    /// The source text of the function; `None` if the library doesn't have it.
    fn source(&self) -> Option<&'static str> {
        let function = self.function.as_ref()?;
        sources(self.taskflow).iter().find(|(known, _)| function == known).map(|(_, text)| *text)
    }
}

fn used(item: &Item, runtime: &Ident) -> Option<Vec<Used>> {
    let (word, tree) = library::used(item, runtime)?;
    let mut functions = Vec::new();
    collect(tree, word, &mut functions);
    Some(functions)
}

fn collect(tree: &UseTree, word: &Ident, functions: &mut Vec<Used>) {
    let taskflow = word == "taskflows";
    let used = |function: &Ident, name: &Ident| Used { taskflow, function: Some(function.clone()), name: name.clone() };
    match tree {
        UseTree::Name(name) => functions.push(used(&name.ident, &name.ident)),
        UseTree::Rename(rename) => functions.push(used(&rename.ident, &rename.rename)),
        UseTree::Group(group) => group.items.iter().for_each(|tree| collect(tree, word, functions)),
        UseTree::Path(path) => functions.push(used(&path.ident, &path.ident)),
        UseTree::Glob(_) => functions.push(Used { taskflow, function: None, name: word.clone() }),
    }
}

fn declared(item: &Item) -> Option<String> {
    match item {
        Item::Fn(function) => Some(function.sig.ident.to_string()),
        _ => None,
    }
}

/// Names and texts of the library's tasks, or of its taskflows.
fn sources(taskflow: bool) -> &'static [(&'static str, &'static str)] {
    if taskflow { taskflows::SOURCES } else { tasks::SOURCES }
}

/// Parses a function of the library. All its tokens get the span of its name in the user's module, so that faults are shown there.
fn function(tokens: TokenStream, name: &Ident) -> ItemFn {
    let mut function: ItemFn = syn::parse2(at(tokens, name.span())).expect("a file of the library holds one function");
    function.sig.ident = name.clone();
    function
}

/// The functions of a module that were added from the library.
pub(crate) fn library_functions(module: &ItemMod) -> impl Iterator<Item = &ItemFn> {
    let items = module.content.iter().flat_map(|(_, items)| items);
    items.filter_map(|item| match item {
        Item::Fn(function) if is_of_library(function) => Some(function),
        _ => None,
    })
}

/// Whether a function is from the library: all of its tokens have the span of its name.
pub(super) fn is_of_library(function: &ItemFn) -> bool {
    Site(function.block.brace_token.span.join()) == Site(function.sig.ident.span())
}

#[cfg(test)]
mod tests;
