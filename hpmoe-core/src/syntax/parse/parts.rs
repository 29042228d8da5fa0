//! Taskflows that call others: the statements of the called taskflow replace the call.

use super::const_arguments::{const_arguments, with_values};
use super::flow::flow;
use super::forms::{fault, ident, is_unique};
use super::known_flows::{KnownFlows, is_public};
use super::reader::{Held, Reader};
use crate::finding::{Errors, Finding, FindingAt, NameKind, PartFault, Site, SyntaxFault};
use crate::names::nearest;
use crate::syntax::ast::{Flow, Over, Role, Stmt};
use proc_macro2::Span;
use syn::spanned::Spanned as _;
use syn::{Expr, ItemFn};

/// Reads the taskflows of a module, each after those that it calls. Returns those that are `pub`, in order of declaration; all others are
/// only parts of them.
pub(super) fn flows(functions: &[&ItemFn], errors: &mut Errors) -> Vec<Flow> {
    let mut known = KnownFlows { functions, read: functions.iter().map(|_| None).collect() };
    while let Some(next) = known.next() {
        let name = functions[next].sig.ident.to_string();
        errors.within(Some(&name));
        known.read[next] = Some(flow(functions[next], &known, errors));
        errors.within(None);
    }
    for (function, _) in functions.iter().zip(&known.read).filter(|(_, read)| read.is_none()) {
        let name = function.sig.ident.to_string();
        errors.push(function.sig.ident.span(), Finding::Syntax(SyntaxFault::Part(PartFault::Recursive { name })));
    }
    let read = functions.iter().zip(known.read);
    read.filter(|(function, _)| is_public(function)).filter_map(|(_, flow)| flow.flatten()).collect()
}

/// The statements of the called taskflow `part`, for the arguments of a call.
pub(super) fn statements(call: &syn::ExprCall, part: &Flow, caller: &Reader<'_>) -> Result<Vec<Stmt>, FindingAt> {
    let part_fault = |at: &Expr, part_fault| fault(at, SyntaxFault::Part(part_fault));
    if part.route.is_some() {
        return Err(part_fault(&call.func, PartFault::MakesRoute { name: part.name.clone() }));
    }
    if call.args.len() != part.roles.len() {
        let (name, expected, given) = (part.name.clone(), part.roles.len(), call.args.len());
        return Err(part_fault(&call.func, PartFault::Arity { name, expected, given }));
    }
    let mut names: Vec<(String, String)> = Vec::new();
    for (argument, role) in call.args.iter().zip(&part.roles) {
        let written = match argument {
            Expr::Reference(reference) => (true, ident(&reference.expr)),
            other => (false, ident(other)),
        };
        match (role, written) {
            (Role::Ranks, (false, Some(name))) if name == caller.ranks => {}
            (Role::Ranks, _) => {
                let takes = caller.ranks.to_owned();
                return Err(part_fault(argument, PartFault::Argument { takes, what: "ranks" }));
            }
            (Role::Route, (_, Some(name))) if name == caller.route && !caller.made => {
                return Err(fault(argument, caller.too_early()));
            }
            (Role::Route, (borrowed, Some(name)))
                if name == caller.route && borrowed == caller.owned && !is_unique(argument) => {}
            (Role::Route, _) => {
                let takes = caller.route_argument();
                return Err(part_fault(argument, PartFault::Argument { takes, what: "route" }));
            }
            (Role::Tensor(tensor), (_, Some(name))) if caller.tensors.borrow().contains(&name) => {
                let (param, types) = (&part.params[*tensor], caller.types.borrow());
                let (takes, own) = (param.kind.type_text(param.element), types.iter().find(|(own, _)| *own == name));
                if let Some((_, given)) = own.filter(|(_, given)| *given != takes) {
                    let (name, given) = (param.name.clone(), given.clone());
                    return Err(part_fault(argument, PartFault::TensorType { name, takes, given }));
                }
                if let Some(fault) = misheld(argument, &name, part.params[*tensor].write, caller) {
                    return Err(part_fault(argument, fault));
                }
                names.push((part.params[*tensor].name.clone(), name));
            }
            (Role::Tensor(_), (_, Some(name))) => {
                let known = caller.tensors.borrow();
                let nearest = nearest(&name, known.iter().map(String::as_str));
                return Err(Box::new((argument.span(), Finding::Unknown { kind: NameKind::Tensor, name, nearest })));
            }
            (Role::Tensor(tensor), (_, None)) => {
                let name = part.params[*tensor].name.clone();
                return Err(part_fault(argument, PartFault::WholeTensor { name }));
            }
        }
    }
    let values = const_arguments(call, part, caller, &names)?;
    let mut body = part.body.clone();
    with_values(&mut body, &part.generics, &values);
    declare(&mut body, &part.name, caller, &mut names);
    rename(&mut body, &names);
    // All of a taskflow of the library is at its name in the `use`; its faults are those of this call.
    shown_at(&mut body, Site(part.span), call.func.span());
    Ok(body)
}

/// The fault of an argument that Rust would refuse: a tensor by value, a reference that can't be written through, or a reference to a
/// reference.
fn misheld(argument: &Expr, name: &str, writes: bool, caller: &Reader<'_>) -> Option<PartFault> {
    let (_, held) = caller.held.iter().find(|(tensor, _)| tensor == name)?;
    let (given, mutable) = match argument {
        Expr::Reference(reference) if reference.mutability.is_some() => (format!("&mut {name}"), true),
        Expr::Reference(_) => (format!("&{name}"), false),
        _ => (name.to_owned(), false),
    };
    let wanted = match held {
        Held::Value { mutable: false } if mutable => return Some(PartFault::NotMut { name: name.to_owned() }),
        Held::Value { .. } if writes => format!("&mut {name}"),
        Held::Value { .. } if mutable => return None,
        Held::Value { .. } => format!("&{name}"),
        Held::Shared if mutable => name.to_owned(),
        Held::Unique if mutable || writes => name.to_owned(),
        Held::Shared | Held::Unique => return None,
    };
    (given != wanted).then_some(PartFault::TensorForm { given, wanted })
}

/// Moves the statements at one place of the source to another place, for messages.
fn shown_at(statements: &mut [Stmt], from: Site, to: Span) {
    let put = |span: &mut Span| {
        if Site(*span) == from {
            *span = to;
        }
    };
    for statement in statements {
        match statement {
            Stmt::Let(declared) => put(&mut declared.span),
            Stmt::For { span, body, .. } => {
                put(span);
                shown_at(body, from, to);
            }
            Stmt::Call { arguments, span, .. } => {
                put(span);
                for argument in arguments {
                    put(&mut argument.span);
                    argument.accessors.iter_mut().for_each(|(_, span)| put(span));
                }
            }
        }
    }
}

/// Renames the tensors that a called taskflow makes if the caller already has a tensor of that name.
fn declare(statements: &mut [Stmt], part: &str, caller: &Reader<'_>, names: &mut Vec<(String, String)>) {
    for statement in statements {
        match statement {
            Stmt::Let(declared) => {
                let mut taken = caller.tensors.borrow_mut();
                let numbered = |number: usize| match number {
                    0 => declared.name.clone(),
                    1 => format!("{part}_{}", declared.name),
                    _ => format!("{part}_{}_{number}", declared.name),
                };
                let name =
                    (0..).map(numbered).find(|name| !taken.contains(name)).expect("some number gives a free name");
                taken.push(name.clone());
                caller.types.borrow_mut().push((name.clone(), declared.kind.type_text(declared.element)));
                caller.sizes.borrow_mut().push((name.clone(), declared.kind.sizes(&declared.columns)));
                names.push((std::mem::replace(&mut declared.name, name.clone()), name));
            }
            Stmt::For { body, .. } => declare(body, part, caller, names),
            Stmt::Call { .. } => {}
        }
    }
}

fn rename(statements: &mut [Stmt], names: &[(String, String)]) {
    for statement in statements {
        match statement {
            Stmt::Let(declared) => declared.like.iter_mut().for_each(|like| renamed(like, names)),
            Stmt::For { over, body, .. } => {
                if let Over::TokenBlocks { like: Some(like), .. } = over {
                    renamed(like, names);
                }
                rename(body, names);
            }
            Stmt::Call { arguments, .. } => {
                arguments.iter_mut().for_each(|argument| renamed(&mut argument.tensor, names));
            }
        }
    }
}

fn renamed(tensor: &mut String, names: &[(String, String)]) {
    if let Some((_, name)) = names.iter().find(|(own, _)| own == tensor) {
        tensor.clone_from(name);
    }
}
