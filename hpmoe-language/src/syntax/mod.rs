//! From tokens to the syntax of a kernel: what the module says, before anything is known about it.

mod ast;
mod constants;
mod parse;

pub use ast::{
    Accessor, Argument, BodyExpr, BodyStmt, Flow, FlowParam, Kernel, Let, Over, Rank, Stmt, TaskFn, TensorKind,
    TileParam,
};
pub(crate) use constants::arithmetic;
pub use constants::{Constant, Constants, Overrides, declared_constants, refuse_unknown_overrides};
pub(crate) use parse::{Marker, is_library_use, refuse_arguments};
pub use parse::{parse, with_tasks};
