//! Helper functions as written: computations that several task bodies share.

use super::{BodyExpr, BodyStmt};
use proc_macro2::Span;
use syn::Expr;

/// A function without a marker that task bodies call: values and numbers in, one or more of them out.
#[derive(Clone)]
pub(crate) struct HelperFn {
    pub(crate) name: String,
    /// Names of the const parameters.
    pub(crate) generics: Vec<String>,
    pub(crate) params: Vec<HelperParam>,
    pub(crate) body: Vec<BodyStmt>,
    /// The expression at the end of the body, or those of the tuple that stands there.
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

/// The type of such a parameter.
#[derive(Clone)]
pub(crate) enum HelperType {
    /// `Value<ROWS, COLS>` or a reference to one: constant expressions or const parameters.
    Value { rows: Box<Expr>, cols: Box<Expr> },
    /// `f32`.
    Number,
}
