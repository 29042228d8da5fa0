//! Reads arguments of a task call: a tile of a tensor.

use super::forms::{Fault, fault, ident};
use crate::finding::SyntaxFault;
use crate::syntax::ast::{Accessor, Argument, Rank};
use syn::Expr;
use syn::spanned::Spanned as _;

pub(super) fn argument(expr: &Expr) -> Result<Argument, Fault> {
    let bad = || fault(expr, SyntaxFault::FlowArgument);
    let Expr::Reference(reference) = expr else { return Err(bad()) };
    let mut accessors = Vec::new();
    let mut inner = &*reference.expr;
    while let Expr::MethodCall(call) = inner {
        accessors.push((accessor(call).ok_or_else(bad)?, call.method.span()));
        inner = &call.receiver;
    }
    accessors.reverse();
    let Expr::Index(index) = inner else { return Err(bad()) };
    let rank = match &*index.index {
        Expr::MethodCall(call) if call.method == "owner" && call.args.is_empty() => {
            Rank::Owner(ident(&call.receiver).ok_or_else(bad)?)
        }
        other => Rank::Variable(ident(other).ok_or_else(bad)?),
    };
    Ok(Argument {
        write: reference.mutability.is_some(),
        tensor: ident(&index.expr).ok_or_else(bad)?,
        rank,
        accessors,
        span: index.expr.span(),
    })
}

fn accessor(call: &syn::ExprMethodCall) -> Option<Accessor> {
    let arguments: Vec<_> = call.args.iter().collect();
    Some(match (call.method.to_string().as_str(), arguments.as_slice()) {
        ("gather", [send]) => Accessor::Gather(ident(send)?),
        ("gather", [expert, tile]) => Accessor::GatherTile(ident(expert)?, ident(tile)?),
        ("rows_of", [send]) => Accessor::RowsOf(ident(send)?),
        ("scatter", [send]) => Accessor::Scatter(ident(send)?),
        ("group", [expert, tile]) => Accessor::Group(ident(expert)?, ident(tile)?),
        ("slots", [block]) => Accessor::Slots(ident(block)?),
        ("rows", [block]) => Accessor::Rows(ident(block)?),
        ("expert", [expert]) => Accessor::Expert(ident(expert)?),
        ("tile", [index]) => Accessor::Tile((*index).clone()),
        ("cols", [index]) => Accessor::Cols((*index).clone()),
        _ => return None,
    })
}
