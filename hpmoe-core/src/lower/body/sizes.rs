//! Checks of sizes: const arguments that contradict the number of columns of a result, and whole numbers as operands of operations that
//! take no number.

use super::{Builder, Operand};
use crate::constant::Constant;
use crate::finding::{BodyFault, Finding};
use crate::ids::Id as _;
use crate::syntax::{BodyExpr, size_text};
use hpmoe_kernels::op::OperandKind;
use hpmoe_kernels::ops;
use proc_macro2::Span;
use syn::{Expr, Lit};

/// Operations with one const argument, which is the number of their result's columns and follows from their operands.
const COLUMNS: [&str; 8] =
    ["concat", "interleave", "even_columns", "odd_columns", "unpack", "matmul", "matmul_t", "t_matmul"];

impl Builder<'_> {
    /// Refuses const arguments of an operation that differ from the number of columns of its result.
    pub(super) fn check_columns(&mut self, name: &str, sizes: &[Expr], result: &Operand, span: Span) -> Option<()> {
        if sizes.is_empty() || !COLUMNS.contains(&name) {
            return Some(());
        }
        let made = match result {
            Operand::Value(id) => self.shapes[id.index()].cols,
            Operand::Wide(_, shape) => shape.cols,
            Operand::Number(_) | Operand::Size(_) | Operand::Index(_) => return Some(()),
        };
        let value = |size: &Expr| self.kernel.constants.evaluate(size, &self.locals, self.errors);
        let stated: Vec<usize> = sizes.iter().map(value).collect::<Option<_>>()?;
        if stated == [made] {
            return Some(());
        }
        let (operation, sizes) = (name.to_owned(), sizes.iter().map(size_text).collect());
        let library = self.function.library;
        self.errors.push(span, Finding::Body(BodyFault::Columns { operation, sizes, stated, made, library }));
        None
    }

    /// The operand at position `place`, counted from the receiver. If the operation takes no number there, a whole number becomes a size,
    /// so that errors don't call it a number of a wrong type.
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
