//! Const parameters of taskflows that others call: computes their values at a call, and puts these into the statements.

use super::forms::{fault, ident, written_or_inferred};
use super::known_flows::function;
use super::reader::Reader;
use crate::finding::{FindingAt, PartFault, SyntaxFault};
use crate::syntax::ast::{Accessor, Flow, Over, Stmt, TensorKind};
use proc_macro2::{Group, TokenStream, TokenTree};
use quote::{ToTokens as _, quote};
use syn::{Expr, PathArguments};

/// The values of a called taskflow's const parameters: as the call writes them or, for `_`, inferred from the sizes of the tensors. `names`
/// are pairs of a tensor of the called taskflow and the caller's tensor.
pub(super) fn const_arguments(
    call: &syn::ExprCall,
    part: &Flow,
    caller: &Reader<'_>,
    names: &[(String, String)],
) -> Result<Vec<Expr>, FindingAt> {
    let part_fault = |part_fault| fault(&call.func, SyntaxFault::Part(part_fault));
    let (name, expected) = (part.name.clone(), part.generics.len());
    let written = match function(call).map(|function| &function.arguments) {
        Some(PathArguments::AngleBracketed(arguments)) => {
            let read: Option<Vec<Expr>> = arguments.args.iter().map(written_or_inferred).collect();
            read.filter(|read| read.len() == expected)
                .ok_or_else(|| part_fault(PartFault::ConstArity { name, expected, given: arguments.args.len() }))?
        }
        _ => Vec::new(),
    };
    let value = |(number, parameter): (usize, &String)| match written.get(number) {
        Some(value) if !matches!(value, Expr::Infer(_)) => Ok(value.clone()),
        _ => inferred(parameter, part, caller, names).ok_or_else(|| {
            let (name, parameter) = (part.name.clone(), parameter.clone());
            part_fault(PartFault::ConstNotInferred { name, parameter })
        }),
    };
    part.generics.iter().enumerate().map(value).collect()
}

/// The size that a const parameter of the called taskflow gets from the tensor that the caller passes.
fn inferred(parameter: &str, part: &Flow, caller: &Reader<'_>, names: &[(String, String)]) -> Option<Expr> {
    let sizes = caller.sizes.borrow();
    part.params.iter().find_map(|param| {
        let (_, given) = names.iter().find(|(own, _)| *own == param.name)?;
        let (_, given) = sizes.iter().find(|(name, _)| name == given)?;
        let own = param.kind.sizes(&param.columns);
        let place = own.iter().position(|size| ident(size).is_some_and(|name| name == parameter))?;
        given.get(place).cloned()
    })
}

/// Replaces const parameters in statements by their values.
pub(super) fn with_values(statements: &mut [Stmt], parameters: &[String], values: &[Expr]) {
    if parameters.is_empty() {
        return;
    }
    let put = |expr: &mut Expr| {
        let tokens = replaced(expr.to_token_stream(), parameters, values);
        *expr = syn::parse2(tokens).expect("an expression stays valid if values replace names in it");
    };
    sizes(statements, &put);
}

/// Calls `put` for each constant expression in statements.
fn sizes(statements: &mut [Stmt], put: &impl Fn(&mut Expr)) {
    for statement in statements {
        match statement {
            Stmt::Let(declared) => {
                if let TensorKind::Experts { rows } | TensorKind::Matrix { rows } = &mut declared.kind {
                    put(rows);
                }
                put(&mut declared.columns);
            }
            Stmt::For { over, body, .. } => {
                match over {
                    Over::Ranks | Over::Experts | Over::ExpertsOf(_) => {}
                    Over::Chunks { count: size }
                    | Over::Sends { height: size, .. }
                    | Over::SendsOnce { height: size, .. }
                    | Over::RowTiles { height: size, .. }
                    | Over::TokenBlocks { height: size, .. }
                    | Over::Range { extent: size } => put(size),
                }
                sizes(body, put);
            }
            Stmt::Call { generics, arguments, .. } => {
                generics.iter_mut().for_each(put);
                for argument in arguments {
                    for (accessor, _) in &mut argument.accessors {
                        match accessor {
                            Accessor::Tile { rows: size, index } | Accessor::Cols { columns: size, index } => {
                                size.iter_mut().chain([index]).for_each(put);
                            }
                            _ => {}
                        }
                    }
                }
            }
        }
    }
}

fn replaced(tokens: TokenStream, parameters: &[String], values: &[Expr]) -> TokenStream {
    let value = |token: TokenTree| match token {
        TokenTree::Group(group) => {
            let mut inner = Group::new(group.delimiter(), replaced(group.stream(), parameters, values));
            inner.set_span(group.span());
            TokenTree::Group(inner).into()
        }
        TokenTree::Ident(name) => match parameters.iter().position(|parameter| name == parameter) {
            Some(number) => match &values[number] {
                value @ (Expr::Path(_) | Expr::Lit(_) | Expr::Infer(_)) => value.to_token_stream(),
                value => quote!((#value)),
            },
            None => TokenTree::Ident(name).into(),
        },
        other => other.into(),
    };
    tokens.into_iter().map(value).collect::<Vec<TokenStream>>().into_iter().collect()
}
