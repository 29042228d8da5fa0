//! Numbers in accessors: the index of a tile and its size.

use super::loops::Nest;
use crate::finding::{CallFault, Errors, Finding};
use crate::names::ByName;
use crate::syntax::Kernel;
use quote::ToTokens as _;
use syn::Expr;
use syn::spanned::Spanned as _;

/// The index of a tile: the variable of a constant range plus a number (the range's position and that number), or a fixed number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Index {
    Range(u32, u32),
    Fixed(u32),
}

/// Reads the index of a tile.
pub(super) fn index(kernel: &Kernel, nest: &Nest, expr: &Expr, errors: &mut Errors) -> Option<Index> {
    // Larger ones are behind the end of any tensor.
    let number = |value: usize| u32::try_from(value).unwrap_or(u32::MAX);
    if let Some((range, constants)) = sum(nest, expr) {
        let mut added = 0usize;
        for constant in constants {
            added = added.saturating_add(kernel.constants.evaluate(constant, &ByName::new(), errors)?);
        }
        return Some(Index::Range(range, number(added)));
    }
    if let Some((variable, range)) = nest.variable_in(expr.to_token_stream()) {
        let index = expr.to_token_stream().to_string();
        errors.push(expr.span(), Finding::Call(CallFault::Index { index, variable, range }));
        return None;
    }
    Some(Index::Fixed(number(kernel.constants.evaluate(expr, &ByName::new(), errors)?)))
}

/// The value of a const argument, if one is written.
pub(super) fn size(kernel: &Kernel, written: Option<&Expr>, errors: &mut Errors) -> Option<Option<usize>> {
    written.map_or(Some(None), |written| kernel.constants.evaluate(written, &ByName::new(), errors).map(Some))
}

/// The range whose variable an expression is, by its position.
fn range(nest: &Nest, expr: &Expr) -> Option<u32> {
    let Expr::Path(path) = expr else { return None };
    let name = path.path.get_ident()?;
    u32::try_from(nest.ranges.iter().rposition(|(range, _)| name == range)?).ok()
}

/// The range and the constants of `n + CONSTANT`, in any order.
fn sum<'a>(nest: &Nest, expr: &'a Expr) -> Option<(u32, Vec<&'a Expr>)> {
    let mut constants = terms(expr);
    let at = constants.iter().position(|term| range(nest, term).is_some())?;
    let variable = range(nest, constants.remove(at))?;
    let constant = |term: &&Expr| nest.variable_in(term.to_token_stream()).is_none();
    constants.iter().all(constant).then_some((variable, constants))
}

/// The terms of a sum; for any other expression, the expression itself.
fn terms(expr: &Expr) -> Vec<&Expr> {
    match expr {
        Expr::Binary(syn::ExprBinary { left, op: syn::BinOp::Add(_), right, .. }) => {
            [terms(left), terms(right)].concat()
        }
        Expr::Paren(paren) => terms(&paren.expr),
        _ => vec![expr],
    }
}
