//! What stands outside of functions.

use super::expr::Expr;
use super::stmt::Stmt;

/// An item of a file, a namespace or a structure.
#[derive(Clone, PartialEq, Debug)]
pub(in crate::emit) enum Item {
    /// `// text`.
    Comment(String),
    /// An empty line.
    Blank,
    /// `#include "path"`.
    Include(String),
    /// `using namespace name;`.
    Using(String),
    /// `namespace name { … }`.
    Namespace(String, Vec<Item>),
    /// `constexpr type name = value; // comment`.
    Constant { ty: String, name: String, value: Expr, comment: String },
    /// `struct name { … };`.
    Struct(String, Vec<Item>),
    /// A function.
    Function(Function),
}

/// A function definition.
#[derive(Clone, PartialEq, Debug)]
pub(in crate::emit) struct Function {
    /// What precedes the name: linkage, qualifiers, return type.
    pub(in crate::emit) head: String,
    pub(in crate::emit) name: String,
    /// Type and name of each parameter.
    pub(in crate::emit) params: Vec<(String, String)>,
    pub(in crate::emit) body: Vec<Stmt>,
}
