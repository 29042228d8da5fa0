//! The syntax tree: a kernel module as written, before any analysis. The readers that make it are in `parse`.

mod body;
mod external;
mod flow;
mod helper;
mod kernel;
mod task;

pub(crate) use body::{BodyExpr, BodyStmt, HelperCall, visit};
pub(crate) use external::ExternalFn;
pub(crate) use flow::{Accessor, Argument, Flow, FlowParam, Let, MadeRoute, Over, Rank, Role, Stmt, TensorKind};
pub(crate) use helper::{HelperFn, HelperParam, HelperType};
pub use kernel::Kernel;
pub(crate) use task::{TaskFn, TileParam};
