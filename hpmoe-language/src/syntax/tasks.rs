//! Task functions as written.

use super::{BodyStmt, body};
use crate::finding::{Errors, Finding, NotPlain, Syntax};
use hpmoe_kernels::op::{ElementType, TaskKind};
use proc_macro2::Span;
use syn::spanned::Spanned as _;
use syn::{
    Expr, FnArg, GenericArgument, GenericParam, ItemFn, Pat, PathArguments, ReturnType, Safety, Signature, Type,
};

/// A tile parameter: `name: &Tile<element, rows, cols>` or `&mut`.
#[derive(Clone, Debug)]
pub struct TileParam {
    /// Name.
    pub name: String,
    /// `&mut`.
    pub write: bool,
    /// Element type.
    pub element: ElementType,
    /// Most rows: a constant expression or a const parameter.
    pub rows: Expr,
    /// Most columns.
    pub cols: Expr,
    /// Where it stands.
    pub span: Span,
}

/// A marked task function.
#[derive(Clone, Debug)]
pub struct TaskFn {
    /// Name.
    pub name: String,
    /// Which cores run it.
    pub kind: TaskKind,
    /// Const parameters.
    pub generics: Vec<String>,
    /// Tile parameters.
    pub params: Vec<TileParam>,
    /// Statements.
    pub body: Vec<BodyStmt>,
    /// The name.
    pub span: Span,
}

impl TaskFn {
    /// Reads a function; `None` when its signature can't be understood.
    pub fn parse(function: &ItemFn, kind: TaskKind, errors: &mut Errors) -> Option<Self> {
        let before = errors.len();
        plain_function(&function.sig, errors);
        let mut generics = Vec::new();
        for parameter in &function.sig.generics.params {
            match parameter {
                GenericParam::Const(constant) => generics.push(constant.ident.to_string()),
                other => errors.push(other.span(), Finding::Syntax(Syntax::TaskGeneric)),
            }
        }
        let params: Vec<_> = function.sig.inputs.iter().filter_map(|input| tile_param(input, errors)).collect();
        let body = body::statements(&function.block, errors);
        (errors.len() == before).then(|| Self {
            name: function.sig.ident.to_string(),
            kind,
            generics,
            params,
            body,
            span: function.sig.ident.span(),
        })
    }
}

/// Refuses what makes another thing of a call than running the body: `async`, `unsafe`, an ABI, a result.
pub(super) fn plain_function(signature: &Signature, errors: &mut Errors) {
    let mut refuse = |span: Span, reason: NotPlain| errors.push(span, Finding::Syntax(Syntax::NotPlain(reason)));
    if let Some(word) = &signature.asyncness {
        refuse(word.span(), NotPlain::Async);
    }
    if let Safety::Unsafe(word) = &signature.safety {
        refuse(word.span(), NotPlain::Unsafe);
    }
    if let Some(abi) = &signature.abi {
        refuse(abi.span(), NotPlain::Abi);
    }
    match &signature.output {
        ReturnType::Type(_, ty) if !matches!(&**ty, Type::Tuple(tuple) if tuple.elems.is_empty()) => {
            refuse(ty.span(), NotPlain::Result);
        }
        _ => {}
    }
}

fn tile_param(input: &FnArg, errors: &mut Errors) -> Option<TileParam> {
    let param = read_tile_param(input);
    if param.is_none() {
        errors.push(input.span(), Finding::Syntax(Syntax::TaskParameter));
    }
    param
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

/// Reads `<element, A, B…>` with `count` constants; lifetimes are passed over.
pub(super) fn generic_tensor(
    arguments: &syn::AngleBracketedGenericArguments,
    count: usize,
) -> Option<(ElementType, Vec<Expr>)> {
    let mut arguments = arguments.args.iter().filter(|argument| !matches!(argument, GenericArgument::Lifetime(_)));
    let GenericArgument::Type(Type::Path(element)) = arguments.next()? else { return None };
    let element = element.path.segments.last()?.ident.to_string();
    let element = ElementType::ALL.into_iter().find(|candidate| candidate.name() == element)?;
    let dimensions: Option<Vec<Expr>> = arguments.map(constant_argument).collect();
    dimensions.filter(|dimensions| dimensions.len() == count).map(|dimensions| (element, dimensions))
}

/// A const argument as an expression; a bare name parses as a type.
pub(super) fn constant_argument(argument: &GenericArgument) -> Option<Expr> {
    match argument {
        GenericArgument::Const(expr) => Some(expr.clone()),
        GenericArgument::Type(Type::Path(path)) => {
            Some(Expr::Path(syn::ExprPath { attrs: Vec::new(), qself: None, path: path.path.clone() }))
        }
        _ => None,
    }
}
