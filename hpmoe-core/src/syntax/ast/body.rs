//! Task bodies as written: a straight line of tile operations.

use hpmoe_kernels::op::ElementType;
use proc_macro2::Span;
use syn::Expr;

/// A statement of a task body.
#[derive(Clone)]
pub(crate) enum BodyStmt {
    /// `let name = value;`
    Let { name: String, value: BodyExpr },
    /// `let (first, second) = function(…);`, with a name for each result; `_` discards a result.
    LetResults { names: Vec<String>, value: BodyExpr, span: Span },
    /// `name = value;`, for a name declared by `let mut`.
    Assign { name: String, value: BodyExpr, span: Span },
    /// `value;`
    Do(BodyExpr),
    /// `for variable in from..to { … }`, unrolled by the compiler.
    For { variable: String, from: Box<Expr>, to: Box<Expr>, body: Vec<BodyStmt> },
}

/// An expression of a task body.
#[derive(Clone)]
pub(crate) enum BodyExpr {
    /// The name of a parameter or of a `let`.
    Name { name: String, span: Span },
    /// A number: a literal, or a size converted to f32.
    Number(Box<Expr>),
    /// A size in parentheses: `value.columns::<WIDTH>(n * WIDTH)`.
    Index(Box<Expr>),
    /// A tile operation, or arithmetic on numbers.
    Operation {
        /// Method name or operator sign.
        name: String,
        /// The operands, the receiver first.
        operands: Vec<BodyExpr>,
        /// The type argument of `cast::<bf16>()`.
        element: Option<ElementType>,
        /// The const arguments of `fold_rows::<BLOCK>()` and `broadcast::<ROWS, COLS>()`.
        sizes: Vec<Expr>,
        span: Span,
    },
    /// A call of a helper function.
    Call(HelperCall),
}

/// A call of a helper function.
#[derive(Clone)]
pub(crate) struct HelperCall {
    pub(crate) function: String,
    /// The const arguments if the call writes them; `_` leaves one to inference from the values.
    pub(crate) sizes: Vec<Expr>,
    pub(crate) arguments: Vec<BodyExpr>,
    pub(crate) span: Span,
}

/// Calls `f` for each expression of a body, and for each expression before its operands.
pub(crate) fn visit<'a>(body: &'a [BodyStmt], f: &mut impl FnMut(&'a BodyExpr)) {
    for statement in body {
        match statement {
            BodyStmt::Let { value, .. }
            | BodyStmt::LetResults { value, .. }
            | BodyStmt::Assign { value, .. }
            | BodyStmt::Do(value) => value.visit(f),
            BodyStmt::For { body, .. } => visit(body, f),
        }
    }
}

impl BodyExpr {
    /// Calls `f` for this expression, then for its operands.
    pub(crate) fn visit<'a>(&'a self, f: &mut impl FnMut(&'a Self)) {
        f(self);
        match self {
            Self::Operation { operands, .. } => operands.iter().for_each(|operand| operand.visit(f)),
            Self::Call(call) => call.arguments.iter().for_each(|argument| argument.visit(f)),
            Self::Name { .. } | Self::Number(_) | Self::Index(_) => {}
        }
    }
}
