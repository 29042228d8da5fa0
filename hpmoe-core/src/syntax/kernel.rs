//! The kernel module: constants, tasks, taskflows.

use super::{Constants, Flow, Overrides, TaskFn, nearest};
use crate::finding::{Errors, Finding};
use hpmoe_kernels::op::Core;
use proc_macro2::Span;
use syn::spanned::Spanned as _;
use syn::{Attribute, Item, ItemMod};

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
        errors.push(
            module.span(),
            Finding::Syntax {
                problem: "a kernel module is written inline".into(),
                help: format!("write `mod {} {{ … }}` here: the macro must see every task", module.ident),
            },
        );
        return kernel;
    };
    for item in items {
        if let Item::Const(constant) = item
            && is_usize(&constant.ty)
        {
            refuse_cfg(&constant.attrs, errors);
            kernel.constants.declare(constant, overrides, errors);
        }
    }
    for item in items {
        match item {
            Item::Fn(function) => match Marker::of(&function.attrs) {
                Some(Marker::Task(core)) => {
                    refuse_cfg(&function.attrs, errors);
                    errors.within(Some(&function.sig.ident.to_string()));
                    kernel.tasks.extend(TaskFn::parse(function, core, errors));
                    errors.within(None);
                }
                Some(Marker::Flow) => {
                    refuse_cfg(&function.attrs, errors);
                    errors.within(Some(&function.sig.ident.to_string()));
                    kernel.flows.extend(Flow::parse(function, errors));
                    errors.within(None);
                }
                None => {}
            },
            Item::Macro(call) => errors.push(
                call.span(),
                Finding::Syntax {
                    problem: "a kernel module holds no macro calls: what they make is not seen by the compiler".into(),
                    help: "write the items out".into(),
                },
            ),
            _ => {}
        }
    }
    if kernel.flows.is_empty() && errors.is_empty() {
        errors.push(
            module.ident.span(),
            Finding::Syntax {
                problem: format!("kernel `{}` has no taskflow", module.ident),
                help: "mark a function with `#[taskflow]`".into(),
            },
        );
    }
    kernel
}

/// Names of the constants that a module declares and a build may set.
#[must_use]
pub fn declared_constants(module: &ItemMod) -> Vec<String> {
    let items = module.content.iter().flat_map(|(_, items)| items);
    items
        .filter_map(|item| match item {
            Item::Const(constant) if is_usize(&constant.ty) => Some(constant.ident.to_string()),
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
    Task(Core),
    Flow,
}

impl Marker {
    fn of(attributes: &[Attribute]) -> Option<Self> {
        attributes.iter().find_map(|attribute| match attribute.path().segments.last()?.ident.to_string().as_str() {
            "aic_task" => Some(Self::Task(Core::Cube)),
            "aiv_task" => Some(Self::Task(Core::Vector)),
            "comm_put" => Some(Self::Task(Core::Comm)),
            "taskflow" => Some(Self::Flow),
            _ => None,
        })
    }
}

fn is_usize(ty: &syn::Type) -> bool {
    matches!(ty, syn::Type::Path(path) if path.path.is_ident("usize"))
}

fn refuse_cfg(attributes: &[Attribute], errors: &mut Errors) {
    for attribute in attributes {
        if attribute.path().is_ident("cfg") || attribute.path().is_ident("cfg_attr") {
            errors.push(
                attribute.span(),
                Finding::Syntax {
                    problem: "`#[cfg]` inside a kernel: the build script can't tell what rustc will see".into(),
                    help: "put `#[cfg]` on the whole module, or use a constant".into(),
                },
            );
        }
    }
}
