//! Classifies the expressions that no task body can have.

use crate::finding::BodyForm;
use crate::syntax::constants::METHODS;
use crate::syntax::spelled::unparenthesized;
use syn::{Expr, ExprCast};

/// The form of an expression that the readers of bodies don't know.
pub(super) const fn form(expr: &Expr) -> BodyForm {
    match expr {
        Expr::Block(_) | Expr::Unsafe(_) | Expr::Async(_) | Expr::Const(_) => BodyForm::Block,
        Expr::Closure(_) => BodyForm::Closure,
        Expr::Return(_) => BodyForm::Return,
        Expr::Loop(_) | Expr::While(_) => BodyForm::OpenLoop,
        Expr::Break(_) | Expr::Continue(_) => BodyForm::Jump,
        Expr::Index(_) => BodyForm::Index,
        Expr::Field(_) => BodyForm::Field,
        Expr::Try(_) => BodyForm::Try,
        Expr::Tuple(_) => BodyForm::Tuple,
        Expr::Path(_) => BodyForm::Path,
        _ => BodyForm::Other,
    }
}

/// Whether `as` converts the result of an operation rather than a size.
pub(super) fn casts_value(cast: &ExprCast) -> bool {
    matches!(unparenthesized(&cast.expr), Expr::MethodCall(call) if !METHODS.iter().any(|name| call.method == name))
}
