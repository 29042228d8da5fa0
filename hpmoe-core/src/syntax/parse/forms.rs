//! Small forms that several readers share: names, const arguments, tensor types, signatures.

use crate::finding::{ConstantFault, Errors, Finding, FindingAt, NotPlain, SyntaxFault};
use crate::syntax::spelled::{one_line, unparenthesized};
use hpmoe_kernels::op::ElementType;
use proc_macro2::{Span, TokenStream, TokenTree};
use quote::ToTokens;
use syn::spanned::Spanned as _;
use syn::{Expr, GenericArgument, GenericParam, PathArguments, ReturnType, Safety, Signature, Type};

pub(super) fn fault(at: &impl syn::spanned::Spanned, fault: SyntaxFault) -> FindingAt {
    Box::new((at.span(), Finding::Syntax(fault)))
}

pub(super) fn ident(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Path(path) => path.path.get_ident().map(ToString::to_string),
        Expr::Reference(reference) => ident(&reference.expr),
        Expr::Paren(paren) => ident(&paren.expr),
        Expr::Group(group) => ident(&group.expr),
        _ => None,
    }
}

/// The name that an expression is; `None` for references and all other expressions.
pub(super) fn name_of(expr: &Expr) -> Option<String> {
    match unparenthesized(expr) {
        Expr::Reference(_) => None,
        name => ident(name),
    }
}

/// The name in `&name`.
pub(super) fn borrowed(expr: &Expr) -> Option<String> {
    match unparenthesized(expr) {
        Expr::Reference(reference) if reference.mutability.is_none() => name_of(&reference.expr),
        _ => None,
    }
}

/// Whether an expression is `&mut …`.
pub(super) fn is_unique(expr: &Expr) -> bool {
    matches!(unparenthesized(expr), Expr::Reference(reference) if reference.mutability.is_some())
}

/// The names of a function's const parameters. Any other generic parameter is reported as the fault `other`.
pub(super) fn const_parameters(signature: &Signature, other: &SyntaxFault, errors: &mut Errors) -> Vec<String> {
    let mut names = Vec::new();
    for parameter in &signature.generics.params {
        match parameter {
            GenericParam::Const(constant) => {
                let (name, ty) = (constant.ident.to_string(), constant.ty.to_token_stream().to_string());
                if ty != "usize" {
                    let name = name.clone();
                    errors.push(constant.ident.span(), Finding::Constant(ConstantFault::OfType { name, ty }));
                }
                names.push(name);
                // Rust allows defaults in types only.
                if let Some((_, default)) = &constant.default {
                    errors.push(default.span(), Finding::Syntax(SyntaxFault::NotPlain(NotPlain::Default)));
                }
            }
            parameter => errors.push(parameter.span(), Finding::Syntax(other.clone())),
        }
    }
    names
}

/// Refuses functions that [`plain`] refuses, and those with a result.
pub(super) fn plain_function(signature: &Signature, errors: &mut Errors) {
    plain(signature, errors);
    match &signature.output {
        ReturnType::Type(_, ty) if !matches!(&**ty, Type::Tuple(tuple) if tuple.elems.is_empty()) => {
            errors.push(ty.span(), Finding::Syntax(SyntaxFault::NotPlain(NotPlain::Result)));
        }
        _ => {}
    }
}

/// Refuses functions that are `const`, `async` or `unsafe`, that have an ABI, or whose parameters name a lifetime.
pub(super) fn plain(signature: &Signature, errors: &mut Errors) {
    let mut refuse = |span: Span, reason: NotPlain| errors.push(span, Finding::Syntax(SyntaxFault::NotPlain(reason)));
    if let Some(word) = &signature.constness {
        refuse(word.span(), NotPlain::Const);
    }
    if let Some(word) = &signature.asyncness {
        refuse(word.span(), NotPlain::Async);
    }
    if let Safety::Unsafe(word) = &signature.safety {
        refuse(word.span(), NotPlain::Unsafe);
    }
    if let Some(abi) = &signature.abi {
        refuse(abi.span(), NotPlain::Abi);
    }
    // Generic lifetimes are refused as generic parameters.
    if signature.generics.lifetimes().next().is_none() {
        for input in &signature.inputs {
            if let Some(lifetime) = undeclared_lifetime(input.to_token_stream()) {
                refuse(lifetime, NotPlain::Lifetime);
            }
        }
    }
}

/// The place of the first lifetime other than `'static` and `'_`.
fn undeclared_lifetime(tokens: TokenStream) -> Option<Span> {
    let mut tick = false;
    for token in tokens {
        match token {
            TokenTree::Punct(punct) => tick = punct.as_char() == '\'',
            TokenTree::Ident(name) => {
                if std::mem::take(&mut tick) && name != "static" && name != "_" {
                    return Some(name.span());
                }
            }
            TokenTree::Group(group) => match undeclared_lifetime(group.stream()) {
                None => tick = false,
                found => return found,
            },
            TokenTree::Literal(_) => tick = false,
        }
    }
    None
}

/// Reads `Name<element, A, B…>` with `count` constants.
pub(super) fn tensor_type(ty: &Type, name: &str, count: usize) -> Option<(ElementType, Vec<Expr>)> {
    let Type::Path(path) = ty else { return None };
    let last = path.path.segments.last()?;
    if last.ident != name {
        return None;
    }
    let PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
    generic_tensor(arguments, count)
}

/// Reads `<element, A, B…>` with `count` constants; lifetimes are ignored.
pub(super) fn generic_tensor(
    arguments: &syn::AngleBracketedGenericArguments,
    count: usize,
) -> Option<(ElementType, Vec<Expr>)> {
    let mut arguments = arguments.args.iter().filter(|argument| !matches!(argument, GenericArgument::Lifetime(_)));
    let GenericArgument::Type(Type::Path(element)) = arguments.next()? else { return None };
    let element = element_name(&element.path)?;
    let element = ElementType::ALL.into_iter().find(|candidate| candidate.name() == element)?;
    let dimensions: Option<Vec<Expr>> = arguments.map(constant_argument).collect();
    dimensions.filter(|dimensions| dimensions.len() == count).map(|dimensions| (element, dimensions))
}

/// Refuses a size of a type that is computed from a const parameter, which Rust doesn't allow.
pub(super) fn refuse_computed(sizes: &[Expr], parameters: &[String], errors: &mut Errors) {
    for size in sizes.iter().filter(|size| name_in_braces(size).is_none()) {
        if let Some(parameter) = parameter_in(size.to_token_stream(), parameters) {
            errors.push(size.span(), Finding::Constant(ConstantFault::OfParameter { parameter }));
        }
    }
}

/// The name in `NAME` or `{ NAME }`.
fn name_in_braces(size: &Expr) -> Option<String> {
    match unparenthesized(size) {
        Expr::Block(block) => match &block.block.stmts[..] {
            [syn::Stmt::Expr(inner @ Expr::Path(_), None)] => ident(inner),
            _ => None,
        },
        other => ident(other),
    }
}

fn parameter_in(tokens: TokenStream, parameters: &[String]) -> Option<String> {
    tokens.into_iter().find_map(|token| match token {
        TokenTree::Ident(name) => parameters.iter().find(|parameter| name == **parameter).cloned(),
        TokenTree::Group(group) => parameter_in(group.stream(), parameters),
        _ => None,
    })
}

/// The name of an element type. If its path leads outside of hpmoe, the whole path is returned.
fn element_name(path: &syn::Path) -> Option<String> {
    let (first, last) = (path.segments.first()?, path.segments.last()?);
    let elsewhere = path.segments.len() > 1 && !ROOTS.iter().any(|root| first.ident == root);
    Some(if elsewhere { one_line(path) } else { last.ident.to_string() })
}

/// The first segments of paths that can lead to the types of the language.
const ROOTS: [&str; 4] = ["hpmoe_runtime", "self", "super", "crate"];

/// The name and the place of the first argument of `<element, A, B…>` if it names a type that is not an element type; `None` if it names an
/// element type, or is not a path.
/// Lifetimes are ignored.
pub(super) fn unknown_element(arguments: &syn::AngleBracketedGenericArguments) -> Option<(Span, String)> {
    let first = arguments.args.iter().find(|argument| !matches!(argument, GenericArgument::Lifetime(_)))?;
    let GenericArgument::Type(Type::Path(element)) = first else { return None };
    let (name, at) = (element_name(&element.path)?, element.path.segments.last()?.ident.span());
    ElementType::ALL.iter().all(|element| name != element.name()).then_some((at, name))
}

/// The fault of a type such as `Tile<element, …>` whose element type is unknown. Only types with a name in `inside` are checked.
pub(super) fn element_fault(ty: &Type, inside: &[&str]) -> Option<FindingAt> {
    let Type::Path(path) = ty else { return None };
    let last = path.path.segments.last().filter(|last| inside.iter().any(|name| last.ident == name))?;
    let PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
    let (at, name) = unknown_element(arguments)?;
    Some(Box::new((at, Finding::Syntax(SyntaxFault::ElementType { name }))))
}

/// A const argument as an expression. A bare name was parsed as a type.
pub(super) fn constant_argument(argument: &GenericArgument) -> Option<Expr> {
    match argument {
        GenericArgument::Const(expr) => Some(expr.clone()),
        GenericArgument::Type(Type::Path(path)) => {
            Some(Expr::Path(syn::ExprPath { attrs: Vec::new(), qself: None, path: path.path.clone() }))
        }
        _ => None,
    }
}

/// A const argument as an expression; `_` becomes `Expr::Infer`.
pub(super) fn written_or_inferred(argument: &GenericArgument) -> Option<Expr> {
    match argument {
        GenericArgument::Type(Type::Infer(infer)) => {
            Some(Expr::Infer(syn::ExprInfer { attrs: Vec::new(), underscore_token: infer.underscore_token }))
        }
        other => constant_argument(other),
    }
}

/// Whether a statement is a lone semicolon.
pub(super) fn is_empty(statement: &syn::Stmt) -> bool {
    matches!(statement, syn::Stmt::Expr(Expr::Verbatim(tokens), _) if tokens.is_empty())
}
