//! Reads helper functions: functions without a marker that task bodies call.

use super::body;
use super::forms::{const_parameters, constant_argument, fault, plain};
use crate::finding::{Errors, Finding, HelperFault, SyntaxFault};
use crate::names::nearest;
use crate::syntax::ast::{BodyExpr, HelperCall, HelperFn, HelperParam, HelperType, TaskFn, visit};
use syn::spanned::Spanned as _;
use syn::{Expr, FnArg, ItemFn, Pat, PathArguments, ReturnType, Type};

/// Reads the functions that tasks call, and the functions that those call. Other functions of the module may be any Rust.
pub(super) fn helpers(unmarked: &[&ItemFn], tasks: &[TaskFn], errors: &mut Errors) -> Vec<HelperFn> {
    let mut read: Vec<HelperFn> = Vec::new();
    let mut seen: Vec<String> = Vec::new();
    let mut waiting: Vec<HelperCall> = tasks.iter().flat_map(|task| calls(&task.body, &[])).collect();
    while let Some(call) = waiting.pop() {
        let Some(function) = unmarked.iter().find(|function| function.sig.ident == call.function) else {
            errors.push(call.span, unknown(call.function, unmarked, tasks));
            continue;
        };
        if !seen.contains(&call.function) {
            errors.within(Some(&call.function));
            let helper = helper(function, errors);
            errors.within(None);
            waiting.extend(helper.iter().flat_map(|helper| calls(&helper.body, &helper.results)));
            read.extend(helper);
            seen.push(call.function);
        }
    }
    read
}

fn calls(body: &[crate::syntax::BodyStmt], results: &[BodyExpr]) -> Vec<HelperCall> {
    let mut calls = Vec::new();
    let mut collect = |expr: &BodyExpr| {
        if let BodyExpr::Call(call) = expr {
            calls.push(call.clone());
        }
    };
    visit(body, &mut collect);
    results.iter().for_each(|result| result.visit(&mut collect));
    calls
}

fn unknown(name: String, unmarked: &[&ItemFn], tasks: &[TaskFn]) -> Finding {
    if tasks.iter().any(|task| task.name == name) {
        return Finding::Helper(HelperFault::Task { name });
    }
    let functions: Vec<String> = unmarked.iter().map(|function| function.sig.ident.to_string()).collect();
    let nearest = nearest(&name, functions.iter().map(String::as_str));
    Finding::Helper(HelperFault::Unknown { name, nearest })
}

fn helper(function: &ItemFn, errors: &mut Errors) -> Option<HelperFn> {
    let before = errors.len();
    plain(&function.sig, errors);
    let generics = const_parameters(&function.sig, &SyntaxFault::HelperGeneric, errors);
    let mut params = Vec::new();
    for input in &function.sig.inputs {
        match parameter(input) {
            Some(param) => params.push(param),
            None => errors.push(input.span(), Finding::Syntax(SyntaxFault::HelperParameter)),
        }
    }
    let ReturnType::Type(_, result) = &function.sig.output else {
        let fault = fault(&function.sig.ident, SyntaxFault::HelperResult);
        errors.push(fault.0, fault.1);
        return None;
    };
    let returned: Vec<&Type> = match &**result {
        Type::Tuple(tuple) => tuple.elems.iter().collect(),
        one => vec![one],
    };
    let (body, results) = body::with_results(&function.block, errors)?;
    let types: Vec<HelperType> = returned.iter().filter_map(|ty| helper_type(ty)).collect();
    if types.len() != returned.len() || returned.len() != results.len() || results.is_empty() {
        errors.push(result.span(), Finding::Syntax(SyntaxFault::HelperResult));
    }
    let (name, returns) = (function.sig.ident.to_string(), (types, result.span()));
    (errors.len() == before).then(|| HelperFn { name, generics, params, body, results, returns })
}

fn parameter(input: &FnArg) -> Option<HelperParam> {
    let FnArg::Typed(typed) = input else { return None };
    let Pat::Ident(name) = &*typed.pat else { return None };
    let (ty, by_reference) = match &*typed.ty {
        Type::Reference(reference) if reference.mutability.is_none() => (helper_type(&reference.elem)?, true),
        ty => (helper_type(ty)?, false),
    };
    Some(HelperParam { name: name.ident.to_string(), ty, by_reference })
}

fn helper_type(ty: &Type) -> Option<HelperType> {
    let Type::Path(path) = ty else { return None };
    let last = path.path.segments.last()?;
    if last.ident == "f32" {
        return Some(HelperType::Number);
    }
    let PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
    let sizes = arguments.args.iter().map(constant_argument).collect::<Option<Vec<Expr>>>()?;
    let [rows, cols] = <[Expr; 2]>::try_from(sizes).ok()?;
    (last.ident == "Value").then(|| HelperType::Value { rows: Box::new(rows), cols: Box::new(cols) })
}
