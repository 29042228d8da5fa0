//! C++ outside of functions.

use super::expr::Expr;
use super::stmt::Stmt;

/// An item of a C++ file, namespace or structure.
#[derive(Clone, PartialEq, Debug)]
pub(in crate::emit) enum Item {
    /// A comment: `// text`.
    Comment(String),
    /// An empty line.
    Blank,
    /// A header: `#include "path"`.
    Include(String),
    /// `using namespace name;`.
    Using(String),
    /// `namespace name { … }`.
    Namespace(String, Vec<Item>),
    /// `constexpr type name = value; // comment`.
    Constant { ty: String, name: String, value: Expr, comment: String },
    /// `enum : uint32_t { names };`: numbers that only need to be distinct.
    Enum(Vec<String>),
    /// `struct name { … };`.
    Struct(String, Vec<Item>),
    /// The definition of a function.
    Function(Function),
}

/// A function definition.
#[derive(Clone, PartialEq, Debug)]
pub(in crate::emit) struct Function {
    /// The text before the name: linkage, qualifiers, return type.
    pub(in crate::emit) head: String,
    pub(in crate::emit) name: String,
    /// Type and name of each parameter.
    pub(in crate::emit) params: Vec<(String, String)>,
    pub(in crate::emit) body: Vec<Stmt>,
}
