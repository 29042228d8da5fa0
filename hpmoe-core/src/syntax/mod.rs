//! The first stage, from tokens to the syntax of a kernel: the contents of the module, before any analysis.

mod ast;
mod constants;
mod loop_sizes;
mod names;
mod parse;
mod spelled;

pub use crate::constant::{Constant, Overrides, is_tile_size};
pub use ast::Kernel;
pub(crate) use ast::{
    Accessor, Argument, BodyExpr, BodyStmt, Flow, HelperCall, HelperFn, HelperType, Let, MadeRoute, Over, Rank, Stmt,
    TaskFn, TensorKind, TileParam, visit,
};
pub use constants::{
    Constants, declared_constants, independent_tile_sizes, is_derived, leaving_open, open_constants,
    refuse_derived_overrides, refuse_unknown_overrides,
};
pub(crate) use constants::{arithmetic, independent_constants};
pub(crate) use loop_sizes::LoopSizes;
pub(crate) use names::names_of;
pub(crate) use parse::{columns, library_functions, moves, parse, with_library};
pub(crate) use spelled::size_text;
