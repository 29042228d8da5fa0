//! The kernel module: constants, tasks, taskflows.

use super::numbers::is_f32;
use super::{Constants, Flow, Overrides, TaskFn, library};
use crate::finding::{Errors, Finding, Syntax};
use crate::names::nearest;
use hpmoe_kernels::op::TaskKind;
use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};
use quote::ToTokens as _;
use syn::spanned::Spanned as _;
use syn::{Attribute, Item, ItemMod, Meta};

/// A kernel module as written.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// Its name.
    pub name: String,
    /// Where the name stands.
    pub span: Span,
    /// Constants with their values.
    pub constants: Constants,
    /// Marked task functions.
    pub tasks: Vec<TaskFn>,
    /// Taskflows.
    pub flows: Vec<Flow>,
}

/// Reads a kernel module.
pub fn parse(module: &ItemMod, overrides: &Overrides, errors: &mut Errors) -> Kernel {
    let mut kernel = Kernel {
        name: module.ident.to_string(),
        span: module.ident.span(),
        constants: Constants::default(),
        tasks: Vec::new(),
        flows: Vec::new(),
    };
    let Some((_, items)) = &module.content else {
        errors.push(module.span(), Finding::Syntax(Syntax::ModuleElsewhere { module: module.ident.to_string() }));
        return kernel;
    };
    let constants: Vec<_> = items
        .iter()
        .filter_map(|item| match item {
            Item::Const(constant) if is_known(&constant.ty) => Some(constant),
            _ => None,
        })
        .collect();
    for constant in &constants {
        refuse_cfg(constant.to_token_stream(), errors);
    }
    kernel.constants = Constants::of(&constants, overrides, errors);
    for item in items {
        match item {
            Item::Fn(function) => match Marker::of(&function.attrs, errors) {
                Some(Marker::Task(core)) => {
                    refuse_cfg(function.to_token_stream(), errors);
                    errors.within(Some(&function.sig.ident.to_string()));
                    kernel.tasks.extend(TaskFn::parse(function, core, errors));
                    errors.within(None);
                }
                Some(Marker::Flow) => {
                    refuse_cfg(function.to_token_stream(), errors);
                    errors.within(Some(&function.sig.ident.to_string()));
                    kernel.flows.extend(Flow::parse(function, errors));
                    errors.within(None);
                }
                None => {}
            },
            item if library::is_use(item) => library::refuse(item, items, errors),
            Item::Macro(call) => errors.push(call.span(), Finding::Syntax(Syntax::MacroCall)),
            _ => {}
        }
    }
    if kernel.flows.is_empty() && errors.is_empty() {
        errors.push(module.ident.span(), Finding::Syntax(Syntax::NoTaskflow { module: module.ident.to_string() }));
    }
    kernel
}

/// Names of the constants that a module declares and a build may set.
#[must_use]
pub fn declared_constants(module: &ItemMod) -> Vec<String> {
    let items = module.content.iter().flat_map(|(_, items)| items);
    items
        .filter_map(|item| match item {
            Item::Const(constant) if is_known(&constant.ty) => Some(constant.ident.to_string()),
            _ => None,
        })
        .collect()
}

/// Says which overridden names no kernel declares.
///
/// # Errors
///
/// A sentence naming the first such name and the nearest declared one.
pub fn refuse_unknown_overrides<'a>(
    overrides: &Overrides,
    declared: impl Iterator<Item = &'a str> + Clone,
) -> Result<(), String> {
    for name in overrides.keys() {
        if !declared.clone().any(|constant| constant == name) {
            let hint = match nearest(name, declared.clone()) {
                Some(nearest) => format!("did you mean `{nearest}`?"),
                None => "no constant has a name like it".to_owned(),
            };
            return Err(format!("no kernel declares a constant `{name}`: {hint}"));
        }
    }
    Ok(())
}

/// What an attribute makes of a function.
enum Marker {
    Task(TaskKind),
    Flow,
}

impl Marker {
    fn of(attributes: &[Attribute], errors: &mut Errors) -> Option<Self> {
        let marker = |attribute: &Attribute| match attribute.path().segments.last()?.ident.to_string().as_str() {
            "aic_task" => Some(Self::Task(TaskKind::Matrix)),
            "aiv_task" => Some(Self::Task(TaskKind::Vector)),
            "comm_put" => Some(Self::Task(TaskKind::Put)),
            "taskflow" => Some(Self::Flow),
            _ => None,
        };
        let mut found = None;
        for (attribute, marker) in attributes.iter().filter_map(|attribute| Some((attribute, marker(attribute)?))) {
            let mut refuse = |fault: Syntax| errors.push(attribute.span(), Finding::Syntax(fault));
            if !matches!(attribute.meta, Meta::Path(_)) {
                let attribute = attribute.path().segments.last()?.ident.to_string();
                refuse(Syntax::AttributeArgument { attribute, argument: None, known: &[] });
            }
            if found.is_some() {
                refuse(Syntax::SecondMarker);
            } else {
                found = Some(marker);
            }
        }
        found
    }
}

/// Types of constants that the compiler computes.
fn is_known(ty: &syn::Type) -> bool {
    is_f32(ty) || matches!(ty, syn::Type::Path(path) if path.path.is_ident("usize"))
}

/// Anywhere in an item: an attribute on a statement or a parameter changes as much as one on the item.
fn refuse_cfg(tokens: TokenStream, errors: &mut Errors) {
    let mut hash = false;
    for token in tokens {
        match &token {
            TokenTree::Group(group) => {
                let first = group.stream().into_iter().next();
                let conditional = matches!(&first, Some(TokenTree::Ident(name)) if name == "cfg" || name == "cfg_attr");
                if hash && conditional && group.delimiter() == Delimiter::Bracket {
                    errors.push(group.span(), Finding::Syntax(Syntax::Cfg));
                }
                refuse_cfg(group.stream(), errors);
                hash = false;
            }
            TokenTree::Punct(punct) => hash = punct.as_char() == '#' || hash && punct.as_char() == '!',
            _ => hash = false,
        }
    }
}
