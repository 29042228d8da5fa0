//! C++ statements.

use super::expr::{Expr, int, name};

/// A C++ statement in the body of a function.
#[derive(Clone, PartialEq, Debug)]
pub(in crate::emit) enum Stmt {
    /// A comment: `// text`.
    Comment(String),
    /// `const type name = value;`, or `constexpr`.
    Let { constexpr: bool, ty: String, name: String, value: Expr },
    /// An expression as a statement: `expression;`.
    Expr(Expr),
    /// `if (condition) { … }`.
    If(Expr, Vec<Stmt>),
    /// `if MACRO { … }`; the macro expands to the condition with its parentheses.
    IfMacro(String, Vec<Stmt>),
    /// `for (uint32_t counter = 0; counter < or <= bound; ++counter) { … }`.
    For { counter: String, compare: &'static str, bound: Expr, body: Vec<Stmt> },
    /// `switch (value) { … }`.
    Switch(Expr, Vec<Case>),
    /// The end of a function: `return value;`.
    Return(Expr),
}

/// `case value: { … }` with comments in front of it.
#[derive(Clone, PartialEq, Debug)]
pub(in crate::emit) struct Case {
    pub(in crate::emit) comments: Vec<String>,
    pub(in crate::emit) value: u64,
    pub(in crate::emit) body: Vec<Stmt>,
}

impl Stmt {
    pub(in crate::emit) fn constant(ty: impl Into<String>, name: impl Into<String>, value: Expr) -> Self {
        Self::Let { constexpr: false, ty: ty.into(), name: name.into(), value }
    }

    pub(in crate::emit) fn constexpr(ty: impl Into<String>, name: impl Into<String>, value: Expr) -> Self {
        Self::Let { constexpr: true, ty: ty.into(), name: name.into(), value }
    }

    pub(in crate::emit) fn call(function: impl Into<String>, arguments: Vec<Expr>) -> Self {
        Self::Expr(name(function).call(arguments))
    }

    /// Sets a flag: `SetFlag<HardEvent::EVENT>(id);`.
    pub(in crate::emit) fn set_flag(event: &str, id: Expr) -> Self {
        Self::call(format!("SetFlag<HardEvent::{event}>"), vec![id])
    }

    /// Waits for a flag: `WaitFlag<HardEvent::EVENT>(id);`.
    pub(in crate::emit) fn wait_flag(event: &str, id: Expr) -> Self {
        Self::call(format!("WaitFlag<HardEvent::{event}>"), vec![id])
    }

    /// `for (uint32_t counter = 0; counter <= bound; ++counter)`.
    pub(in crate::emit) fn for_up_to(counter: &str, bound: Expr, body: Vec<Stmt>) -> Self {
        Self::For { counter: counter.to_owned(), compare: "<=", bound, body }
    }

    /// The initial value of a loop's counter.
    pub(super) fn start() -> Expr {
        int(0u64)
    }
}
