//! Task functions as written.

use super::BodyStmt;
use hpmoe_kernels::op::{ElementType, TaskKind};
use proc_macro2::Span;
use syn::Expr;

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
