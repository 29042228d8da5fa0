//! Whole numbers among the operands of an operation, where it takes no number.

use super::{Builder, Operand};
use crate::constant::Constant;
use crate::finding::{BodyFault, Finding};
use crate::syntax::BodyExpr;
use hpmoe_kernels::op::OperandKind;
use hpmoe_kernels::ops;
use proc_macro2::Span;
use syn::{Expr, Lit};

impl Builder<'_> {
    /// The operand at a place, counted from the receiver. A whole number where the operation takes no number is told as what it is, not as a number
    /// of another type.
    pub(super) fn operand(&mut self, name: &str, place: usize, operand: &BodyExpr, span: Span) -> Option<Operand> {
        let takes = |kind: OperandKind| ops::named(name).any(|operation| operation.operands.contains(&kind));
        let takes_number =
            ops::named(name).any(|operation| operation.operands.get(place) == Some(&OperandKind::Number));
        let size = if place == 0 || takes_number { None } else { self.whole(operand) };
        let Some((text, size)) = size else { return self.value(operand) };
        if takes(OperandKind::Size) {
            let fault = BodyFault::SizeInParentheses { operation: name.to_owned(), size: text };
            self.errors.push(span, Finding::Body(fault));
            return None;
        }
        Some(Operand::Size(size))
    }

    /// The text and the value of an operand that is a size or a whole number.
    fn whole(&self, operand: &BodyExpr) -> Option<(String, usize)> {
        match operand {
            BodyExpr::Name { name, .. } if self.named(name).is_none() => {
                let size = match self.kernel.constants.constant(name) {
                    Some(Constant::Size(size)) => Some(size),
                    _ => self.locals.iter().find(|(local, _)| *local == name).map(|(_, size)| *size),
                };
                Some((name.clone(), size?))
            }
            BodyExpr::Number(number) => match &**number {
                Expr::Lit(syn::ExprLit { lit: Lit::Int(digits), .. }) if digits.suffix().is_empty() => {
                    Some((digits.to_string(), digits.base10_parse().ok()?))
                }
                _ => None,
            },
            _ => None,
        }
    }
}
