//! The text of source, for messages.

use quote::ToTokens;
use syn::Expr;

/// The text of an expression, a call or a type on one line, with the usual spaces.
pub(crate) fn one_line(written: &impl ToTokens) -> String {
    let text = written.to_token_stream().to_string();
    // `>>` and `<<` are shifts: nested types end in `> >`.
    let shifted = |part: &str| part.split(" << ").map(without_gaps).collect::<Vec<_>>().join(" << ");
    text.split(" >> ").map(shifted).collect::<Vec<_>>().join(" >> ")
}

/// Text of tokens, without the spaces that source doesn't have around punctuation.
fn without_gaps(tokens: &str) -> String {
    let mut text = String::with_capacity(tokens.len());
    for character in tokens.chars() {
        // A list follows its name directly, but an operator with a space.
        let follows = |before: char| before.is_alphanumeric() || "_)]>!#".contains(before);
        if matches!(character, '(' | '[') && text.trim_end().ends_with(follows) {
            text.truncate(text.trim_end().len());
        }
        text.push(character);
    }
    for (from, to) in [
        (" . ", "."),
        ("( ", "("),
        (" )", ")"),
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

/// The text of a size on one line, without parentheses around it.
pub(crate) fn size_text(size: &Expr) -> String {
    one_line(unparenthesized(size))
}

/// The expression inside parentheses, or the expression itself.
pub(super) fn unparenthesized(expr: &Expr) -> &Expr {
    match expr {
        Expr::Paren(paren) => unparenthesized(&paren.expr),
        Expr::Group(group) => unparenthesized(&group.expr),
        _ => expr,
    }
}
