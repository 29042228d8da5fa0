//! Fingerprints: hashes in the names of files and symbols, so that a kernel that was compiled from other tokens, constants or choices is
//! never linked.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use quote::ToTokens as _;
use syn::ItemMod;

/// A 64-bit FNV-1a hash: stable across platforms and compiler versions, unlike the standard hasher.
#[derive(Clone, Copy, Debug)]
pub struct Fingerprint(u64);

impl Default for Fingerprint {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Fingerprint {
    /// Adds a text to the hash, and a mark for the end of the text.
    #[must_use]
    pub fn text(mut self, text: &str) -> Self {
        for byte in text.bytes().chain([0xff]) {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        self
    }

    /// Adds tokens to the hash. White space, comments, documentation and the spacing of punctuation don't count, because rustc and a source
    /// file represent them differently.
    #[must_use]
    pub fn tokens(mut self, tokens: TokenStream) -> Self {
        for token in without_documentation(tokens) {
            self = match token {
                TokenTree::Ident(ident) => self.text(&ident.to_string()),
                TokenTree::Punct(punct) => self.text(punct.as_char().encode_utf8(&mut [0; 4])),
                TokenTree::Literal(literal) => self.text(&literal.to_string()),
                TokenTree::Group(group) => match group.delimiter() {
                    Delimiter::Parenthesis => self.text("(").tokens(group.stream()).text(")"),
                    Delimiter::Brace => self.text("{").tokens(group.stream()).text("}"),
                    Delimiter::Bracket => self.text("[").tokens(group.stream()).text("]"),
                    Delimiter::None => self.tokens(group.stream()),
                },
            };
        }
        self
    }

    /// The fingerprint as sixteen hexadecimal digits.
    #[must_use]
    pub fn hex(self) -> String {
        format!("{:016x}", self.0)
    }
}

/// Token trees without `#[doc]` attributes. rustc and `proc_macro2` turn doc comments into different ones.
pub(crate) fn without_documentation(tokens: TokenStream) -> impl Iterator<Item = TokenTree> {
    let mut tokens = tokens.into_iter().peekable();
    std::iter::from_fn(move || {
        loop {
            let token = tokens.next()?;
            let is_hash = matches!(&token, TokenTree::Punct(hash) if hash.as_char() == '#');
            if !(is_hash && tokens.peek().is_some_and(is_documentation)) {
                return Some(token);
            }
            tokens.next();
        }
    })
}

fn is_documentation(token: &TokenTree) -> bool {
    let TokenTree::Group(group) = token else { return false };
    let first = group.stream().into_iter().next();
    group.delimiter() == Delimiter::Bracket && matches!(first, Some(TokenTree::Ident(name)) if name == "doc")
}

/// The fingerprint of a module's tokens, without the attributes of the module itself. It is the same for the module in the source file and
/// for the macro's input.
#[must_use]
pub fn of_module(module: &ItemMod) -> Fingerprint {
    Fingerprint::default().tokens(bare(module))
}

/// The tokens of a module without the module's own attributes: rustc removes some, such as `#[cfg]`, before it calls the macro.
pub(crate) fn bare(module: &ItemMod) -> TokenStream {
    ItemMod { attrs: Vec::new(), ..module.clone() }.into_token_stream()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_of_the_module_do_not_count() {
        let hash = |text: &str| of_module(&syn::parse_str(text).unwrap()).hex();
        assert_eq!(
            hash("#[cfg(unix)] #[allow(dead_code)] pub mod a { const B: usize = 1; }"),
            hash("pub mod a { const B: usize = 1; }")
        );
        assert_ne!(hash("mod a { #[cold] fn b() {} }"), hash("mod a { fn b() {} }"));
    }

    #[test]
    fn layout_does_not_count_and_tokens_do() {
        let hash = |text: &str| Fingerprint::default().tokens(text.parse().unwrap()).hex();
        assert_eq!(hash("a::b( c )"), hash("a :: b(c) // d"));
        assert_eq!(hash("/// words\n a"), hash("#[doc = r\" other\"] a"));
        assert_ne!(hash("#[cold] a"), hash("a"));
        assert_ne!(hash("a(b)c"), hash("a(b c)"));
        assert_ne!(hash("ab"), hash("a b"));
    }
}
