//! Places in a kernel module, given as numbers of its tokens. The build script reads a file and the macro gets tokens from rustc, so
//! neither can use the other's spans.

use crate::fingerprint::{bare, without_documentation};
use proc_macro2::{LineColumn, Span, TokenStream, TokenTree};
use syn::ItemMod;

/// Consecutive tokens of a module, numbered from 0. A group has a number before those of its contents; its closing delimiter has none.
/// Attributes of the module itself and documentation are not counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SourceRange {
    /// The number of the first token.
    pub first: usize,
    /// The number of the last token. If the last token is a group, the range includes the contents of the group.
    pub last: usize,
    /// Whether the range is only the closing delimiter of the group `first`.
    pub close: bool,
}

/// The tokens of a module, in order.
#[derive(Debug)]
pub struct SourceTokens {
    /// The span of each token and, if the token is a group, of its closing delimiter.
    tokens: Vec<(Span, Option<Span>)>,
    /// The token that stands for the module: its name.
    module: usize,
}

impl SourceTokens {
    /// Numbers the tokens of a module.
    #[must_use]
    pub fn new(module: &ItemMod) -> Self {
        let mut tokens = Vec::new();
        collect(bare(module), &mut tokens);
        let start = module.ident.span().start();
        let module = tokens.iter().position(|(span, _)| span.start() == start).unwrap_or(0);
        Self { tokens, module }
    }

    /// The tokens that a span covers, in a module that was read from a file. A span of several lines gives its first token; a span that
    /// starts at a closing delimiter gives this delimiter; any other span that starts at no token of the module gives the module's name.
    #[must_use]
    pub fn range(&self, span: Span) -> SourceRange {
        let (start, end) = (span.start(), span.end());
        let begins = |at: LineColumn| move |(span, _): &(Span, Option<Span>)| span.start() == at;
        let ends = |(span, _): &(Span, Option<Span>)| span.end() == end;
        if let Some(first) = self.tokens.iter().position(begins(start)) {
            let rest = if start.line == end.line { &self.tokens[first..] } else { &[] };
            let last = rest.iter().position(ends).map_or(first, |more| first + more);
            return SourceRange { first, last, close: false };
        }
        let closes = |(_, close): &(Span, Option<Span>)| close.is_some_and(|close| close.start() == start);
        let closed = self.tokens.iter().position(closes);
        let token = closed.unwrap_or(self.module);
        SourceRange { first: token, last: token, close: closed.is_some() }
    }

    /// The spans of the first and the last token of a range; for a closing delimiter, its span twice. If the module has no such tokens,
    /// both are the macro's call site.
    #[must_use]
    pub fn ends(&self, range: SourceRange) -> (Span, Span) {
        let (Some((first, _)), Some((last, close))) = (self.tokens.get(range.first), self.tokens.get(range.last))
        else {
            return (Span::call_site(), Span::call_site());
        };
        match close {
            Some(close) if range.close => (*close, *close),
            _ => (*first, *last),
        }
    }
}

fn collect(tokens: TokenStream, all: &mut Vec<(Span, Option<Span>)>) {
    for token in without_documentation(tokens) {
        match token {
            TokenTree::Group(group) => {
                all.push((group.span(), Some(group.span_close())));
                collect(group.stream(), all);
            }
            other => all.push((other.span(), None)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(token: usize) -> SourceRange {
        SourceRange { first: token, last: token, close: false }
    }

    #[test]
    fn attributes_and_documentation_do_not_count() {
        let text = "#[cfg(unix)] pub mod a {\n    //! Words.\n    /// Words.\n    fn f(x: u8) {}\n}";
        let module: ItemMod = syn::parse_str(text).unwrap();
        let tokens = SourceTokens::new(&module);
        let other: ItemMod = syn::parse_str("pub mod a { fn f(x: u8) {} }").unwrap();
        let others = SourceTokens::new(&other);
        assert_eq!(tokens.tokens.len(), others.tokens.len());
        let syn::Item::Fn(function) = &module.content.as_ref().unwrap().1[0] else { panic!("a function") };
        let name = tokens.range(function.sig.ident.span());
        assert_eq!(name, at(5));
        assert_eq!(tokens.ends(name).0.start(), function.sig.ident.span().start());
        assert_eq!(others.ends(name).0.start().column, "pub mod a { fn ".len());
        let end = tokens.range(function.block.brace_token.span.close());
        assert_eq!(end, SourceRange { close: true, ..at(10) });
        assert_eq!(others.ends(end).0.start().column, "pub mod a { fn f(x: u8) {".len());
    }

    #[test]
    fn a_range_ends_with_the_token_at_its_end() {
        let module: ItemMod = syn::parse_str("mod a { fn f() { g(h(1)) + [2] } }").unwrap();
        let syn::Item::Fn(function) = &module.content.as_ref().unwrap().1[0] else { panic!("a function") };
        let syn::Stmt::Expr(syn::Expr::Binary(sum), None) = &function.block.stmts[0] else { panic!("a sum") };
        let tokens = SourceTokens::new(&module);
        let covered = |expr: &syn::Expr| {
            let (first, last) = tokens.ends(tokens.range(syn::spanned::Spanned::span(expr)));
            (first.start().column, last.end().column)
        };
        let start = "mod a { fn f() { ".len();
        assert_eq!(covered(&sum.left), (start, start + "g(h(1))".len()));
        assert_eq!(covered(&sum.right), (start + "g(h(1)) + ".len(), start + "g(h(1)) + [2]".len()));
    }

    #[test]
    fn what_lies_outside_is_shown_at_the_name() {
        let file: syn::File = syn::parse_str("const B: u8 = 1;\nmod c {}").unwrap();
        let [syn::Item::Const(outside), syn::Item::Mod(module)] = &file.items[..] else { panic!("two items") };
        assert_eq!(SourceTokens::new(module).range(outside.ident.span()), at(1));
    }
}
