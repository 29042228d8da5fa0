//! Helper functions as written: computations that several task bodies share.

use super::{BodyExpr, BodyStmt};
use proc_macro2::Span;
use syn::Expr;

/// A function without a marker that task bodies call. It takes values and numbers, and returns one or more of them.
#[derive(Clone)]
pub(crate) struct HelperFn {
    pub(crate) name: String,
    /// Names of the const parameters.
    pub(crate) generics: Vec<String>,
    pub(crate) params: Vec<HelperParam>,
    pub(crate) body: Vec<BodyStmt>,
    /// The expressions that the function returns: the last one of its body or, if that is a tuple, the tuple's elements.
    pub(crate) results: Vec<BodyExpr>,
    /// The declared types of the results, and their position in the source.
    pub(crate) returns: (Vec<HelperType>, Span),
}

/// A parameter of a helper function.
#[derive(Clone)]
pub(crate) struct HelperParam {
    pub(crate) name: String,
    pub(crate) ty: HelperType,
    pub(crate) by_reference: bool,
}

/// The type of a helper function's parameter or result.
#[derive(Clone)]
pub(crate) enum HelperType {
    /// `Value<ROWS, COLS>` or a reference to one: constant expressions or const parameters.
    Value { rows: Box<Expr>, cols: Box<Expr> },
    /// `f32`.
    Number,
}
