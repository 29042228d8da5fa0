//! Reads task functions.

use super::forms::{const_parameters, element_fault, plain_function, refuse_computed, tensor_type};
use super::{attributes, body, library};
use crate::finding::{Errors, Finding, FindingAt, SyntaxFault};
use crate::syntax::ast::{TaskFn, TileParam};
use hpmoe_kernels::op::TaskKind;
use syn::spanned::Spanned as _;
use syn::{Expr, FnArg, ItemFn, Pat, Type};

/// Reads the function of a task; `None` if its signature has faults.
pub(super) fn task(function: &ItemFn, kind: TaskKind, errors: &mut Errors) -> Option<TaskFn> {
    let before = errors.len();
    plain_function(&function.sig, errors);
    let generics = const_parameters(&function.sig, &SyntaxFault::TaskGeneric, errors);
    let params: Vec<_> = function.sig.inputs.iter().filter_map(|input| tile_param(input, errors)).collect();
    for param in &params {
        refuse_computed(&[param.rows.clone(), param.cols.clone()], &generics, errors);
    }
    let external = attributes::external(&function.attrs, kind, errors);
    let body = body::statements(&function.block, errors);
    (errors.len() == before).then(|| TaskFn {
        name: function.sig.ident.to_string(),
        kind,
        generics,
        params,
        body,
        external,
        library: library::is_of_library(function),
        span: function.sig.ident.span(),
    })
}

fn tile_param(input: &FnArg, errors: &mut Errors) -> Option<TileParam> {
    let param = read_tile_param(input);
    if param.is_none() {
        match unknown_element(input) {
            Some(fault) => errors.push(fault.0, fault.1),
            None => errors.push(input.span(), Finding::Syntax(SyntaxFault::TaskParameter)),
        }
    }
    param
}

fn unknown_element(input: &FnArg) -> Option<FindingAt> {
    let FnArg::Typed(typed) = input else { return None };
    match &*typed.ty {
        Type::Reference(reference) => element_fault(&reference.elem, &["Tile"]),
        ty => element_fault(ty, &["Tile"]),
    }
}

fn read_tile_param(input: &FnArg) -> Option<TileParam> {
    let FnArg::Typed(typed) = input else { return None };
    let Pat::Ident(name) = &*typed.pat else { return None };
    let Type::Reference(reference) = &*typed.ty else { return None };
    let (element, dimensions) = tensor_type(&reference.elem, "Tile", 2)?;
    let [rows, cols] = <[Expr; 2]>::try_from(dimensions).ok()?;
    Some(TileParam {
        name: name.ident.to_string(),
        write: reference.mutability.is_some(),
        element,
        rows,
        cols,
        span: name.ident.span(),
    })
}
