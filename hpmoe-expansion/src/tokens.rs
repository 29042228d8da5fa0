//! SourceTokens in a kernel module as numbers of its tokens: the build script has read a file and the macro gets tokens from rustc, so that neither
//! can use the spans of the other.

use crate::fingerprint::{bare, without_documentation};
use proc_macro2::{LineColumn, Span, TokenStream, TokenTree};
use syn::ItemMod;

/// A token of a module, counted from the module's first: a group comes before what it holds. Neither attributes of the module itself
/// nor documentation count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SourceToken {
    /// The number of the token.
    pub token: usize,
    /// Of a group, its last brace alone.
    pub close: bool,
}

/// The tokens of a module, in order.
#[derive(Debug)]
pub struct SourceTokens {
    /// Of each token, its span and that of its closing delimiter, if it is a group.
    tokens: Vec<(Span, Option<Span>)>,
    /// The token that stands for the module: its name.
    module: usize,
}

impl SourceTokens {
    /// The tokens of a module.
    #[must_use]
    pub fn of(module: &ItemMod) -> Self {
        let mut tokens = Vec::new();
        collect(bare(module), &mut tokens);
        let start = module.ident.span().start();
        let module = tokens.iter().position(|(span, _)| span.start() == start).unwrap_or(0);
        Self { tokens, module }
    }

    /// The token that a span starts with, in a module that was read from a file. What lies outside of the module is shown at its name.
    #[must_use]
    pub fn place(&self, span: Span) -> SourceToken {
        let token = |token| SourceToken { token, close: false };
        let starts = |at: LineColumn| move |(span, _): &(Span, Option<Span>)| span.start() == at;
        if let Some(at) = self.tokens.iter().position(starts(span.start())) {
            return token(at);
        }
        let ends = |(_, close): &(Span, Option<Span>)| close.is_some_and(|close| close.start() == span.start());
        self.tokens.iter().position(ends).map_or(token(self.module), |token| SourceToken { token, close: true })
    }

    /// The span of a token.
    #[must_use]
    pub fn span(&self, place: SourceToken) -> Span {
        let Some((span, close)) = self.tokens.get(place.token) else { return Span::call_site() };
        close.filter(|_| place.close).unwrap_or(*span)
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

    #[test]
    fn attributes_and_documentation_do_not_count() {
        let text = "#[cfg(unix)] pub mod a {\n    //! Words.\n    /// Words.\n    fn f(x: u8) {}\n}";
        let module: ItemMod = syn::parse_str(text).unwrap();
        let places = SourceTokens::of(&module);
        let other: ItemMod = syn::parse_str("pub mod a { fn f(x: u8) {} }").unwrap();
        let others = SourceTokens::of(&other);
        assert_eq!(places.tokens.len(), others.tokens.len());
        let syn::Item::Fn(function) = &module.content.as_ref().unwrap().1[0] else { panic!("a function") };
        let name = places.place(function.sig.ident.span());
        assert_eq!(name, SourceToken { token: 5, close: false });
        assert_eq!(places.span(name).start(), function.sig.ident.span().start());
        assert_eq!(others.span(name).start().column, "pub mod a { fn ".len());
        let end = places.place(function.block.brace_token.span.close());
        assert_eq!(end, SourceToken { token: 10, close: true });
        assert_eq!(others.span(end).start().column, "pub mod a { fn f(x: u8) {".len());
    }

    #[test]
    fn what_lies_outside_is_shown_at_the_name() {
        let places = SourceTokens::of(&syn::parse_str("pub mod a {}").unwrap());
        assert_eq!(places.place(Span::call_site()).token, 0, "the span of no place is that of the first token");
        let file: syn::File = syn::parse_str("const B: u8 = 1;\nmod c {}").unwrap();
        let [syn::Item::Const(outside), syn::Item::Mod(module)] = &file.items[..] else { panic!("two items") };
        assert_eq!(SourceTokens::of(module).place(outside.ident.span()), SourceToken { token: 1, close: false });
    }
}
