//! Checks of a task's arguments on the host. Devices run without them.

use super::cpp::{Expr, Stmt, int, name};
use crate::graph::Param;

/// The condition that an argument has at most the rows and columns of its parameter's tile.
pub(super) fn is_a_tile(param: &Param, argument: &str) -> Expr {
    let at_most = |size: &str, most: usize| name(argument).dot(size).binary("<=", int(most as u64));
    at_most("rows", param.shape.rows).binary("&&", at_most("cols", param.shape.cols))
}

/// A statement with which the host checks a precondition of a function.
pub(super) fn expects(condition: Expr) -> Stmt {
    Stmt::call("HPMOE_EXPECTS", vec![condition])
}
