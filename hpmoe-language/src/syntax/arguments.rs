//! Arguments of a task call as written: a tile of a tensor.

use super::flow::{Accessor, Argument, Rank};
use crate::finding::{Finding, Syntax};
use proc_macro2::Span;
use quote::ToTokens as _;
use syn::Expr;
use syn::spanned::Spanned as _;

/// What is wrong, and where.
pub(super) type Fault = Box<(Span, Finding)>;

pub(super) fn fault(at: &impl syn::spanned::Spanned, fault: Syntax) -> Fault {
    Box::new((at.span(), Finding::Syntax(fault)))
}

pub(super) fn ident(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Path(path) => path.path.get_ident().map(ToString::to_string),
        Expr::Reference(reference) => ident(&reference.expr),
        Expr::Paren(paren) => ident(&paren.expr),
        Expr::Group(group) => ident(&group.expr),
        _ => None,
    }
}

pub(super) fn argument(expr: &Expr) -> Result<Argument, Fault> {
    let bad = || fault(expr, Syntax::FlowArgument);
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

/// The call on one line, spaced as a person writes it.
pub(super) fn one_line(call: &syn::ExprCall) -> String {
    let mut text = call.to_token_stream().to_string();
    for (from, to) in [
        (" . ", "."),
        (" (", "("),
        ("( ", "("),
        (" )", ")"),
        (" [", "["),
        ("[ ", "["),
        (" ]", "]"),
        (" ,", ","),
        ("& ", "&"),
        (" :: ", "::"),
        ("< ", "<"),
        (" <", "<"),
        (" >", ">"),
        (",)", ")"),
    ] {
        text = text.replace(from, to);
    }
    text
}
