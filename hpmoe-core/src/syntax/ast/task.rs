//! Task functions as written.

use super::{BodyStmt, ExternalFn};
use hpmoe_kernels::op::{ElementType, TaskKind};
use proc_macro2::Span;
use syn::Expr;

/// A tile parameter: `name: &Tile<element, rows, cols>` or `&mut`.
#[derive(Clone)]
pub(crate) struct TileParam {
    pub(crate) name: String,
    /// Whether the parameter is taken by `&mut`.
    pub(crate) write: bool,
    pub(crate) element: ElementType,
    /// Maximum number of rows: a constant expression or a const parameter; `cols` likewise.
    pub(crate) rows: Expr,
    pub(crate) cols: Expr,
    pub(crate) span: Span,
}

/// A function with the marker of a task.
#[derive(Clone)]
pub(crate) struct TaskFn {
    pub(crate) name: String,
    /// The kind of cores that run the task.
    pub(crate) kind: TaskKind,
    /// Names of the const parameters.
    pub(crate) generics: Vec<String>,
    pub(crate) params: Vec<TileParam>,
    pub(crate) body: Vec<BodyStmt>,
    /// The external operator that replaces the body on the device.
    pub(crate) external: Option<ExternalFn>,
    /// Whether the task is from the library. All of its spans are then that of its name in the module's `use`.
    pub(crate) library: bool,
    pub(crate) span: Span,
}
