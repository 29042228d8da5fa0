//! Reads arguments of a task call: a tile of a tensor.

use super::forms::{borrowed, fault, ident, name_of, written_or_inferred};
use crate::finding::{ArgumentForm, Finding, FindingAt, NameKind, SyntaxFault};
use crate::names::nearest;
use crate::syntax::ast::{Accessor, Argument, Rank};
use syn::Expr;
use syn::spanned::Spanned as _;

pub(super) fn argument(expr: &Expr) -> Result<Argument, FindingAt> {
    let refuse = |form: ArgumentForm| fault(expr, SyntaxFault::FlowArgument(form));
    let Expr::Reference(reference) = expr else {
        let tile = matches!(expr, Expr::MethodCall(_) | Expr::Index(_));
        return Err(refuse(if tile { ArgumentForm::Value } else { ArgumentForm::Other }));
    };
    let mut accessors = Vec::new();
    let mut inner = &*reference.expr;
    while let Expr::MethodCall(call) = inner {
        accessors.push((accessor(call)?, call.method.span()));
        inner = &call.receiver;
    }
    accessors.reverse();
    let Expr::Index(index) = inner else {
        let tensor = ident(inner).ok_or_else(|| refuse(ArgumentForm::Other))?;
        return Err(fault(inner, SyntaxFault::FlowArgument(ArgumentForm::NoRank { tensor })));
    };
    let bad_rank = || fault(&index.index, SyntaxFault::FlowArgument(ArgumentForm::Rank));
    let rank = match &*index.index {
        Expr::MethodCall(call) if call.method == "owner" && call.args.is_empty() => {
            Rank::Owner(ident(&call.receiver).ok_or_else(bad_rank)?)
        }
        other => Rank::Variable(name_of(other).ok_or_else(bad_rank)?),
    };
    Ok(Argument {
        write: reference.mutability.is_some(),
        tensor: ident(&index.expr).ok_or_else(|| refuse(ArgumentForm::Other))?,
        rank,
        accessors,
        span: index.expr.span(),
    })
}

/// The accessors: name and form of each.
pub(super) const ACCESSORS: [(&str, &str); 9] = [
    ("gather", ".gather(&s)` of a send, or `.gather(e, m)"),
    ("rows_of", ".rows_of(&s)"),
    ("scatter", ".scatter(&s)"),
    ("group", ".group(e, m)"),
    ("slots", ".slots(t)"),
    ("rows", ".rows(t)"),
    ("expert", ".expert(e)"),
    ("tile", ".tile(n)"),
    ("cols", ".cols(n)"),
];

fn accessor(call: &syn::ExprMethodCall) -> Result<Accessor, FindingAt> {
    let name = call.method.to_string();
    let Some((_, form)) = ACCESSORS.iter().find(|(known, _)| name == *known) else {
        let nearest = nearest(&name, ACCESSORS.iter().map(|(known, _)| *known));
        return Err(Box::new((call.method.span(), Finding::Unknown { kind: NameKind::Accessor, name, nearest })));
    };
    let arguments: Vec<_> = call.args.iter().collect();
    let sizes = call.turbofish.as_ref().map(|sizes| sizes.args.iter().map(written_or_inferred).collect::<Vec<_>>());
    known(&name, sizes.as_deref(), &arguments).ok_or_else(|| {
        let form = ArgumentForm::Accessor { form: (*form).to_owned() };
        fault(&call.method, SyntaxFault::FlowArgument(form))
    })
}

/// The accessor with this name; `None` if there is none that takes these arguments and const arguments.
fn known(name: &str, sizes: Option<&[Option<Expr>]>, arguments: &[&Expr]) -> Option<Accessor> {
    let size = match (name, sizes) {
        (_, None) => None,
        ("tile" | "cols", Some([size])) | ("slots", Some([size, Some(Expr::Infer(_))])) => Some(size.clone()?),
        _ => return None,
    };
    let size = size.filter(|size| !matches!(size, Expr::Infer(_)));
    Some(match (name, arguments) {
        ("gather", [send]) => Accessor::Gather(borrowed(send)?),
        ("gather", [expert, tile]) => Accessor::GatherTile(name_of(expert)?, name_of(tile)?),
        ("rows_of", [send]) => Accessor::RowsOf(borrowed(send)?),
        ("scatter", [send]) => Accessor::Scatter(borrowed(send)?),
        ("group", [expert, tile]) => Accessor::Group(name_of(expert)?, name_of(tile)?),
        ("slots", [block]) => Accessor::Slots { block: name_of(block)?, rows: size },
        ("rows", [block]) => Accessor::Rows(name_of(block)?),
        ("expert", [expert]) => Accessor::Expert(name_of(expert)?),
        ("tile", [index]) => Accessor::Tile { rows: size, index: (*index).clone() },
        ("cols", [index]) => Accessor::Cols { columns: size, index: (*index).clone() },
        _ => return None,
    })
}
