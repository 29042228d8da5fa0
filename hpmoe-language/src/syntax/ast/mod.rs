//! The tree: a kernel module as written, before anything is known about it. No reader is in this folder.

mod body;
mod flow;
mod kernel;
mod task;

pub use body::{BodyExpr, BodyStmt};
pub use flow::{Accessor, Argument, Flow, FlowParam, Let, Over, Rank, Stmt, TensorKind};
pub use kernel::Kernel;
pub use task::{TaskFn, TileParam};
