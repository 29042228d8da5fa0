//! Reads taskflows: signatures here, statements in `statements`.

use super::forms::{const_parameters, element_fault, plain_function, tensor_type};
use super::known_flows::{KnownFlows, is_public};
use super::reader::{Held, Reader};
use super::route::{kept_in, made_route, makes_route};
use crate::finding::{Errors, Finding, FindingAt, SyntaxFault};
use crate::syntax::ast::{Flow, FlowParam, Role, TensorKind};
use crate::syntax::spelled::one_line;
use hpmoe_kernels::op::ElementType;
use std::cell::RefCell;
use syn::spanned::Spanned as _;
use syn::{Expr, FnArg, GenericArgument, ItemFn, Pat, PathArguments, Type};

/// Reads a taskflow; `None` if it has faults.
pub(super) fn flow(function: &ItemFn, known: &KnownFlows<'_>, errors: &mut Errors) -> Option<Flow> {
    let before = errors.len();
    plain_function(&function.sig, errors);
    let generics = const_parameters(&function.sig, &SyntaxFault::FlowGeneric, errors);
    if is_public(function) && !generics.is_empty() {
        errors.push(function.sig.generics.span(), Finding::Syntax(SyntaxFault::FlowGeneric));
    }
    let (mut ranks, mut route, mut roles, mut params) = (None, None, Vec::new(), Vec::new());
    let mut others = false;
    for input in &function.sig.inputs {
        match flow_param(input) {
            Some(Input::Ranks(name)) if ranks.is_none() => {
                roles.push(Role::Ranks);
                ranks = Some(name);
            }
            Some(Input::Route(name)) if route.is_none() => {
                roles.push(Role::Route);
                route = Some(name);
            }
            Some(Input::Tensor(param)) => {
                roles.push(Role::Tensor(params.len()));
                params.push(*param);
            }
            Some(Input::Ranks(_) | Input::Route(_)) => {
                errors.push(input.span(), Finding::Syntax(SyntaxFault::FlowSecondRoute));
                // The body could mean either.
                return None;
            }
            None => match unknown_element(input) {
                Some(fault) => errors.push(fault.0, fault.1),
                None => {
                    others = true;
                    let text = one_line(input);
                    errors.push(input.span(), Finding::Syntax(SyntaxFault::FlowParameter { text }));
                }
            },
        }
    }
    let statements = &function.block.stmts;
    let maker = statements.iter().position(|statement| route.is_none() && makes_route(statement));
    let (Some(ranks), true) = (ranks, route.is_some() || maker.is_some()) else {
        // A faulty parameter may be meant as the missing one.
        if !others {
            errors.push(function.sig.ident.span(), Finding::Syntax(SyntaxFault::FlowWithoutRoute));
        }
        return None;
    };
    let made = match maker.map(|at| made_route(&statements[at], &ranks)).transpose() {
        Ok(made) => made,
        Err(fault) => {
            errors.push(fault.0, fault.1);
            return None;
        }
    };
    let (earlier, rest) = maker.map_or((&[][..], &statements[..]), |at| (&statements[..at], &statements[at + 1..]));
    let owned = made.is_some();
    let (name, mut made) = made.unzip();
    let route = route.or(name)?;
    // A second one is a statement that no taskflow has.
    let keep = rest.iter().position(|statement| made.is_some() && kept_in(statement, &route).is_some());
    let (rest, after_keep) = keep.map_or((rest, &[][..]), |at| (&rest[..at], &rest[at + 1..]));
    if let (Some(made), Some(at)) = (&mut made, keep) {
        made.keeps = kept_in(&statements[earlier.len() + 1 + at], &route);
    }
    let names = params
        .iter()
        .map(|param| param.name.clone())
        .chain([earlier, rest, after_keep].into_iter().flat_map(names_of_lets));
    let tensors = RefCell::new(names.collect());
    let of_param = |param: &FlowParam| (param.name.clone(), if param.write { Held::Unique } else { Held::Shared });
    let of_lets = lets(statements).into_iter().map(|(name, mutable)| (name, Held::Value { mutable }));
    let held: Vec<(String, Held)> = params.iter().map(of_param).chain(of_lets).collect();
    let sizes =
        RefCell::new(params.iter().map(|param| (param.name.clone(), param.kind.sizes(&param.columns))).collect());
    let types =
        RefCell::new(params.iter().map(|param| (param.name.clone(), param.kind.type_text(param.element))).collect());
    let reader = Reader {
        ranks: &ranks,
        route: &route,
        owned,
        made: true,
        around: None,
        chunk: false,
        known,
        tensors: &tensors,
        held: &held,
        sizes: &sizes,
        types: &types,
    };
    let mut body = Reader { made: false, ..reader }.statements(earlier, errors);
    if let Some(made) = &mut made {
        made.after = body.len();
    }
    body.extend(reader.statements(rest, errors));
    body.extend(reader.statements(after_keep, errors));
    (errors.len() == before).then(|| Flow {
        name: function.sig.ident.to_string(),
        generics,
        roles,
        params,
        route: made,
        body,
        span: function.sig.ident.span(),
    })
}

/// The names of the tensors that statements make, including those inside loops.
fn names_of_lets(statements: &[syn::Stmt]) -> impl Iterator<Item = String> {
    lets(statements).into_iter().map(|(name, _)| name)
}

/// The tensors that statements make, including those inside loops: the name of each, and whether its `let` is `mut`.
fn lets(statements: &[syn::Stmt]) -> Vec<(String, bool)> {
    let mut names = Vec::new();
    for statement in statements {
        match statement {
            syn::Stmt::Local(local) => {
                if let Pat::Ident(name) = &local.pat {
                    names.push((name.ident.to_string(), name.mutability.is_some()));
                }
            }
            syn::Stmt::Expr(Expr::ForLoop(each), _) => names.extend(lets(&each.body.stmts)),
            _ => {}
        }
    }
    names
}

/// The fault of a tensor parameter whose element type is unknown.
fn unknown_element(input: &FnArg) -> Option<FindingAt> {
    const TENSORS: [&str; 6] = ["Tensor", "Received", "Once", "Slots", "Experts", "Matrix"];
    let FnArg::Typed(typed) = input else { return None };
    let Type::Reference(reference) = &*typed.ty else { return None };
    let Type::Path(path) = &*reference.elem else { return None };
    let PathArguments::AngleBracketed(arguments) = &path.path.segments.last()?.arguments else { return None };
    match arguments.args.first()? {
        GenericArgument::Type(inner) => element_fault(inner, &TENSORS),
        _ => None,
    }
}

enum Input {
    Ranks(String),
    Route(String),
    Tensor(Box<FlowParam>),
}

fn flow_param(input: &FnArg) -> Option<Input> {
    let FnArg::Typed(typed) = input else { return None };
    let Pat::Ident(name) = &*typed.pat else { return None };
    let last_is = |ty: &Type, wanted: &str| matches!(ty, Type::Path(path) if path.path.segments.last().is_some_and(|segment| segment.ident == wanted));
    if last_is(&typed.ty, "Ranks") {
        return Some(Input::Ranks(name.ident.to_string()));
    }
    let Type::Reference(reference) = &*typed.ty else { return None };
    if last_is(&reference.elem, "Route") && reference.mutability.is_none() {
        return Some(Input::Route(name.ident.to_string()));
    }
    let Type::Path(path) = &*reference.elem else { return None };
    let last = path.path.segments.last().filter(|segment| segment.ident == "PerRank")?;
    let PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
    let Some(GenericArgument::Type(inner)) = arguments.args.first() else { return None };
    let by_rows = [
        ("Tensor", TensorKind::Tokens),
        ("Received", TensorKind::Ragged),
        ("Once", TensorKind::Once),
        ("Slots", TensorKind::Slots),
    ];
    if last_is(inner, "Routed") {
        return Some(Input::Tensor(Box::new(FlowParam {
            name: name.ident.to_string(),
            write: reference.mutability.is_some(),
            kind: TensorKind::Routed,
            element: ElementType::i32,
            columns: syn::parse_quote!(1),
            span: name.ident.span(),
        })));
    }
    let kind_by_rows = by_rows.into_iter().find_map(|(name, kind)| Some((kind, tensor_type(inner, name, 1)?)));
    let (kind, element, columns) = match kind_by_rows {
        Some((kind, (element, columns))) => (kind, element, columns.into_iter().next()?),
        None => {
            let experts = tensor_type(inner, "Experts", 2);
            let is_experts = experts.is_some();
            let (element, dimensions) = experts.or_else(|| tensor_type(inner, "Matrix", 2))?;
            let [rows, columns] = <[Expr; 2]>::try_from(dimensions).ok()?;
            let rows = Box::new(rows);
            let kind = if is_experts { TensorKind::Experts { rows } } else { TensorKind::Matrix { rows } };
            (kind, element, columns)
        }
    };
    Some(Input::Tensor(Box::new(FlowParam {
        name: name.ident.to_string(),
        write: reference.mutability.is_some(),
        kind,
        element,
        columns,
        span: name.ident.span(),
    })))
}
