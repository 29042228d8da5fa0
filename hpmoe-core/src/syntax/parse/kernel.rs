//! Reads the kernel module: constants, tasks, taskflows.

use super::attributes::Marker;
use super::{helpers, library, parts, task};
use crate::finding::{Errors, Finding, PartFault, SyntaxFault};
use crate::syntax::ast::Kernel;
use crate::syntax::constants::{Constants, is_computed};
use crate::syntax::names::all_names;
use hpmoe_expansion::library::{runtime, used};
use proc_macro2::{Delimiter, Ident, TokenStream, TokenTree};
use quote::ToTokens as _;
use syn::spanned::Spanned as _;
use syn::{FnArg, Item, ItemConst, ItemFn, ItemMod, ItemStatic, Type, parse_quote};

/// Reads a kernel module except for the values of its constants; returns it with the constants' declarations.
pub(crate) fn parse(module: &ItemMod, errors: &mut Errors) -> (Kernel, Vec<ItemConst>) {
    let mut constants = Vec::new();
    let kernel = kernel(module, &mut constants, errors);
    (kernel, constants)
}

/// The Rust functions of a kernel's tasks, and the functions that tasks call.
pub(super) fn functions_of_tasks<'a>(module: &'a ItemMod, kernel: &Kernel) -> Vec<&'a ItemFn> {
    let of_tasks = kernel.tasks.iter().map(|task| &task.name);
    let names: Vec<&String> = of_tasks.chain(kernel.helpers.iter().map(|helper| &helper.name)).collect();
    let items = module.content.iter().flat_map(|(_, items)| items);
    let functions = items.filter_map(|item| if let Item::Fn(function) = item { Some(function) } else { None });
    functions.filter(|function| names.iter().any(|name| function.sig.ident == *name)).collect()
}

/// Reads a kernel module, and collects the declarations of its constants.
fn kernel(module: &ItemMod, constants: &mut Vec<ItemConst>, errors: &mut Errors) -> Kernel {
    let mut kernel = Kernel {
        name: module.ident.to_string(),
        span: module.ident.span(),
        constants: Constants::default(),
        tasks: Vec::new(),
        flows: Vec::new(),
        helpers: Vec::new(),
        unmarked: Vec::new(),
    };
    let Some((_, items)) = &module.content else {
        errors.push(module.span(), Finding::Syntax(SyntaxFault::ModuleElsewhere { module: module.ident.to_string() }));
        return kernel;
    };
    let runtime = runtime(items);
    refuse_without_prelude(module, items, &runtime, errors);
    refuse_unimported(items, &runtime, errors);
    refuse_second_constants(items, errors);
    let statics = statics(items, errors);
    let declared = items.iter().filter_map(|item| match item {
        Item::Const(constant) => Some(constant),
        _ => None,
    });
    constants.extend(declared.chain(&statics).cloned());
    for constant in constants.iter().filter(|constant| is_computed(&constant.ty)) {
        refuse_cfg(constant.to_token_stream(), errors);
    }
    let (mut flows, mut unmarked) = (Vec::new(), Vec::new());
    for item in items {
        match item {
            Item::Fn(function) => match Marker::read(&function.attrs, errors) {
                Some(Marker::Task(core)) => {
                    refuse_cfg(function.to_token_stream(), errors);
                    errors.within(Some(&function.sig.ident.to_string()));
                    kernel.tasks.extend(task::task(function, core, errors));
                    errors.within(None);
                }
                Some(Marker::Flow) => {
                    refuse_cfg(function.to_token_stream(), errors);
                    flows.push(function);
                }
                None => match Marker::conditional(&function.attrs) {
                    Some(attribute) => errors.push(attribute.span(), Finding::Syntax(SyntaxFault::Cfg)),
                    None => unmarked.push(function),
                },
            },
            Item::Use(_) => library::refuse(item, items, errors),
            Item::Macro(call) => errors.push(call.span(), Finding::Syntax(SyntaxFault::MacroCall)),
            _ => {}
        }
    }
    if refuse_second_functions(items, errors) {
        return kernel;
    }
    kernel.helpers = helpers::helpers(&unmarked, &kernel.tasks, errors);
    kernel.unmarked = unmarked.iter().map(|function| function.sig.ident.to_string()).collect();
    kernel.flows = parts::flows(&flows, errors);
    if kernel.flows.is_empty() && errors.is_empty() {
        let module = module.ident.to_string();
        // All called taskflows may come from the library.
        let looks_like_one = unmarked.iter().find(|function| {
            let takes_ranks = |input: &FnArg| matches!(input, FnArg::Typed(input) if named(&input.ty, "Ranks"));
            function.sig.inputs.iter().any(takes_ranks)
        });
        let (span, fault) = match (looks_like_one, flows.first()) {
            (Some(function), _) => {
                let name = function.sig.ident.to_string();
                (function.sig.ident.span(), SyntaxFault::UnmarkedTaskflow { module, name })
            }
            (None, Some(part)) => {
                let name = part.sig.ident.to_string();
                (part.sig.ident.span(), SyntaxFault::Part(PartFault::NonePublic { name }))
            }
            (None, None) => (kernel.span, SyntaxFault::NoTaskflow { module }),
        };
        errors.push(span, Finding::Syntax(fault));
    }
    kernel
}

/// Whether the last name in a type's path is `name`.
fn named(ty: &Type, name: &str) -> bool {
    matches!(ty, Type::Path(path) if path.path.segments.last().is_some_and(|segment| segment.ident == name))
}

/// Refuses a module that can't know the names of the language: it has no `use` except of library functions, and never names the runtime.
fn refuse_without_prelude(module: &ItemMod, items: &[Item], runtime: &Ident, errors: &mut Errors) {
    let (uses, others): (Vec<&Item>, Vec<&Item>) = items.iter().partition(|item| matches!(item, Item::Use(_)));
    let named = |item: &Item| names_in(item.to_token_stream(), &runtime.to_string());
    if uses.iter().all(|item| used(item, runtime).is_some()) && !others.into_iter().any(named) {
        let (span, module, runtime) = (module.ident.span(), module.ident.to_string(), runtime.to_string());
        errors.push(span, Finding::Syntax(SyntaxFault::NoPrelude { module, runtime }));
    }
}

/// The types of the language that a module must know to name them.
const TYPES: [&str; 16] = [
    "Ranks", "Route", "PerRank", "Tensor", "Experts", "Matrix", "Received", "Once", "Slots", "Routed", "Tile", "Value",
    "RAGGED", "bf16", "f16", "i4x2",
];

/// Refuses types of the language that a module names without importing them, if it imports single names from the prelude and has no glob
/// import.
fn refuse_unimported(items: &[Item], runtime: &Ident, errors: &mut Errors) {
    let uses = || items.iter().filter(|item| matches!(item, Item::Use(_)) && used(item, runtime).is_none());
    let is_glob = |item: &Item| item.to_token_stream().to_string().contains('*');
    let names_prelude = |item: &Item| names_in(item.to_token_stream(), "prelude");
    if !uses().any(names_prelude) || uses().any(is_glob) {
        return;
    }
    let mut known: Vec<String> = Vec::new();
    items
        .iter()
        .filter(|item| matches!(item, Item::Use(_)))
        .for_each(|item| all_names(item.to_token_stream(), &mut known));
    let declared = items.iter().filter_map(|item| match item {
        Item::Const(item) => Some(&item.ident),
        Item::Struct(item) => Some(&item.ident),
        Item::Type(item) => Some(&item.ident),
        _ => None,
    });
    known.extend(declared.map(ToString::to_string));
    let functions = items.iter().filter(|item| matches!(item, Item::Fn(_)));
    for item in functions {
        if let Some(name) = unknown_type(item.to_token_stream(), &known) {
            let (span, name) = (name.span(), name.to_string());
            known.push(name.clone());
            errors.push(span, Finding::Syntax(SyntaxFault::NotImported { name, runtime: runtime.to_string() }));
        }
    }
}

/// The first type of the language in tokens that is not known. Names after `::` don't count.
fn unknown_type(tokens: TokenStream, known: &[String]) -> Option<Ident> {
    let mut in_path = false;
    for token in tokens {
        match token {
            TokenTree::Ident(name) if !in_path => {
                let text = name.to_string();
                if TYPES.contains(&text.as_str()) && !known.contains(&text) {
                    return Some(name);
                }
            }
            TokenTree::Group(group) => {
                if let Some(name) = unknown_type(group.stream(), known) {
                    return Some(name);
                }
            }
            TokenTree::Punct(punct) => {
                in_path = punct.as_char() == ':' && (in_path || punct.spacing() == proc_macro2::Spacing::Joint);
                continue;
            }
            _ => {}
        }
        in_path = false;
    }
    None
}

/// Whether a name is among tokens, or inside a group among them.
fn names_in(tokens: TokenStream, name: &str) -> bool {
    tokens.into_iter().any(|token| names(token, name))
}

/// Whether a token is this name, or a group that contains it.
fn names(token: TokenTree, name: &str) -> bool {
    match token {
        TokenTree::Ident(ident) => ident == *name,
        TokenTree::Group(group) => names_in(group.stream(), name),
        _ => false,
    }
}

/// Refuses `usize` and `f32` values that are declared as `static`. Reads them as constants all the same, so that each is reported only
/// once.
fn statics(items: &[Item], errors: &mut Errors) -> Vec<ItemConst> {
    let mut constants = Vec::new();
    for item in items {
        let Item::Static(ItemStatic { ident, ty, expr, .. }) = item else { continue };
        if is_computed(ty) {
            errors.push(item.span(), Finding::Syntax(SyntaxFault::Static { name: ident.to_string() }));
            constants.push(parse_quote!(const #ident: #ty = #expr;));
        }
    }
    constants
}

/// Refuses tasks and taskflows that have the name of another function; returns whether it refused one.
fn refuse_second_functions(items: &[Item], errors: &mut Errors) -> bool {
    let named = items.iter().filter_map(|item| match item {
        Item::Fn(function) => {
            Some((&function.sig.ident, function.attrs.iter().any(|a| Marker::from_attribute(a).is_some())))
        }
        _ => None,
    });
    let functions: Vec<_> = named.collect();
    let before = errors.len();
    for (at, (name, marked)) in functions.iter().enumerate() {
        let meets = |(other, with_marker): &(&syn::Ident, bool)| other == name && (*marked || *with_marker);
        if functions[..at].iter().any(meets) {
            let name_of = name.to_string();
            errors.push(name.span(), Finding::Syntax(SyntaxFault::SecondFunction { name: name_of }));
        }
    }
    errors.len() > before
}

/// Refuses constants that have the name of another one, unless `#[cfg]` may choose between them.
fn refuse_second_constants(items: &[Item], errors: &mut Errors) {
    let mut known: Vec<&Ident> = Vec::new();
    for item in items {
        let Item::Const(constant) = item else { continue };
        let (name, attributes) = (&constant.ident, &constant.attrs);
        if name == "_" || attributes.iter().any(|one| one.path().is_ident("cfg")) {
            continue;
        }
        if known.contains(&name) {
            errors.push(name.span(), Finding::Syntax(SyntaxFault::SecondConstant { name: name.to_string() }));
        }
        known.push(name);
    }
}

/// Refuses `#[cfg]` anywhere in an item, including its statements and parameters.
fn refuse_cfg(tokens: TokenStream, errors: &mut Errors) {
    let mut hash = false;
    for token in tokens {
        match &token {
            TokenTree::Group(group) => {
                let first = group.stream().into_iter().next();
                let conditional = matches!(&first, Some(TokenTree::Ident(name)) if name == "cfg" || name == "cfg_attr");
                if hash && conditional && group.delimiter() == Delimiter::Bracket {
                    errors.push(group.span(), Finding::Syntax(SyntaxFault::Cfg));
                }
                refuse_cfg(group.stream(), errors);
                hash = false;
            }
            TokenTree::Punct(punct) => hash = punct.as_char() == '#' || hash && punct.as_char() == '!',
            _ => hash = false,
        }
    }
}
