//! Task bodies as written: a straight line of tile operations.

use hpmoe_kernels::op::ElementType;
use proc_macro2::Span;
use syn::Expr;

/// A statement of a task body.
#[derive(Clone, Debug)]
pub enum BodyStmt {
    /// `let name = value;`
    Let {
        /// The name.
        name: String,
        /// The value.
        value: BodyExpr,
    },
    /// `value;`
    Do(BodyExpr),
    /// `for variable in from..to { … }`, unrolled by the compiler.
    For {
        /// The loop variable.
        variable: String,
        /// First value.
        from: Box<Expr>,
        /// One behind the last value.
        to: Box<Expr>,
        /// The statements.
        body: Vec<BodyStmt>,
    },
}

/// An expression of a task body.
#[derive(Clone, Debug)]
pub enum BodyExpr {
    /// A parameter or a `let`.
    Name {
        /// The name.
        name: String,
        /// Where it stands.
        span: Span,
    },
    /// A number that is no name: a literal, or a size as f32.
    Number(Box<Expr>),
    /// A tile operation, or arithmetic on numbers.
    Operation {
        /// Method name or operator sign.
        name: String,
        /// Receiver first.
        operands: Vec<BodyExpr>,
        /// The type argument of `cast::<bf16>()`.
        element: Option<ElementType>,
        /// The const argument of `fold_rows::<BLOCK>()`.
        size: Option<Box<Expr>>,
        /// Where the name stands.
        span: Span,
    },
}
