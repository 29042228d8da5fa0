//! From tokens to the syntax of a kernel: what the module says, before anything is known about it.

mod arguments;
mod body;
mod constant;
mod constants;
mod flow;
mod kernel;
mod library;
mod numbers;
mod statements;
mod tasks;

pub use body::{BodyExpr, BodyStmt};
pub use constant::Constant;
pub use constants::{Constants, Overrides};
pub use flow::{Accessor, Argument, Flow, FlowParam, Let, Over, Rank, Stmt, TensorKind};
pub use kernel::{Kernel, declared_constants, parse, refuse_unknown_overrides};
pub(crate) use library::is_use as is_library_use;
pub use library::with_tasks;
pub(crate) use numbers::arithmetic;
pub use tasks::{TaskFn, TileParam};
