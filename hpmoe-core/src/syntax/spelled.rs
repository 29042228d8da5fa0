//! The text of source, for messages.

use quote::ToTokens;
use syn::Expr;

/// The text of an expression, a call or a type on one line, with the usual spaces.
pub(crate) fn one_line(written: &impl ToTokens) -> String {
    let mut text = written.to_token_stream().to_string();
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
        (" : ", ": "),
        ("< ", "<"),
        (" <", "<"),
        (" >", ">"),
        (",)", ")"),
    ] {
        text = text.replace(from, to);
    }
    text
}

/// The expression inside parentheses, or the expression itself.
pub(super) fn unparenthesized(expr: &Expr) -> &Expr {
    match expr {
        Expr::Paren(paren) => unparenthesized(&paren.expr),
        Expr::Group(group) => unparenthesized(&group.expr),
        _ => expr,
    }
}
