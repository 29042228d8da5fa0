//! A small tree of C++ and its printer. Emitters build trees, and only the printer turns them into text.

mod expr;
mod item;
mod names;
mod print;
mod stmt;

pub(super) use expr::{Expr, braces, float, int, name};
pub(super) use item::{Function, Item};
pub(super) use names::{Scope, identifier, maybe_unused};
pub(super) use print::print;
pub(super) use stmt::{Case, Stmt};
