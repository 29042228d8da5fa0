//! A bound on nesting, so that reading a source takes a bounded stack.
//!
//! A parser calls itself for each expression, type or pattern inside another one, and so does every walk over the syntax tree. This module
//! bounds that depth from the tokens alone, before anything is parsed. Each bracket, and each token that is not separated from the next one
//! (by `;`, `,` or the end of an item), adds levels. A level takes about three KiB of stack in a build without optimization.

use proc_macro2::{Delimiter, Group, Spacing, Span, TokenStream, TokenTree};

/// The maximum number of levels of a source. They take less than half of a stack of 8 MiB, the usual size for programs and rustc
/// (`hpmoe-core/tests/all/nested.rs`).
const MOST: usize = 1024;

/// Levels that a bracket adds.
const BRACKET: usize = 8;

/// Levels that `return` or `break` adds, because an expression can follow.
const PREFIX: usize = 4;

/// Levels that a punctuation character adds, because it may be an operator.
const OPERATOR: usize = 2;

/// Levels that `<` adds, because it may open the arguments of a type.
const ANGLE: usize = 16;

/// Levels that `|` adds, because it may begin or end the arguments of a closure.
const BAR: usize = 4;

/// The message for a source that is nested too deeply.
pub const TOO_DEEP: &str = "this is nested too deeply: hpmoe reads at most 128 nested brackets, 64 nested angle brackets, and 500 operators \
or 250 `else if` in a row [HP01]\nhelp: name parts of it by `let`, or move them to functions of their own";

/// The place of a token that is nested too deeply; `None` if no token is.
#[must_use]
pub fn too_deep(tokens: &TokenStream) -> Option<Span> {
    // Brackets that have not been looked into, each with the level that it stands on.
    let mut waiting = vec![(tokens.clone(), 0)];
    while let Some((tokens, base)) = waiting.pop() {
        let mut run = Run { base, ..Run::default() };
        for token in tokens {
            if run.level() > MOST {
                return Some(token.span());
            }
            if let Some(inner) = run.take(&token) {
                waiting.push((inner, run.level() + BRACKET));
            }
        }
    }
    None
}

/// The tokens inside one bracket that have been read so far.
#[derive(Default)]
struct Run {
    /// Level of the bracket.
    base: usize,
    /// Levels that may be nested in each other since the last separator.
    levels: usize,
    /// Open angle brackets. A comma between them ends nothing.
    angles: usize,
    /// Bars since the last separator. Arguments of a closure, which have commas, may lie between them.
    bars: usize,
    last: Last,
}

/// The kind of the previous token.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Last {
    #[default]
    Other,
    /// A group in braces, which ends an item, a statement or an arm unless an expression goes on.
    Braces,
    /// `#` or `#!`.
    Hash,
    /// A name and `!`.
    Macro,
    Name,
    /// `-`, directly followed by another punctuation character.
    Minus,
    /// `=`, directly followed by another punctuation character.
    Equals,
}

impl Run {
    const fn level(&self) -> usize {
        self.base + self.levels
    }

    /// Counts a token. If it is a bracket whose contents must be counted too, returns them.
    fn take(&mut self, token: &TokenTree) -> Option<TokenStream> {
        let last = std::mem::take(&mut self.last);
        if last == Last::Braces && !goes_on(token) {
            self.end();
        }
        self.levels += match token {
            TokenTree::Punct(punct) => match punct.as_char() {
                '<' => ANGLE,
                '|' => BAR,
                _ => OPERATOR,
            },
            TokenTree::Ident(name) if name == "return" || name == "break" => PREFIX,
            TokenTree::Ident(_) | TokenTree::Literal(_) | TokenTree::Group(_) => 1,
        };
        match token {
            TokenTree::Group(group) => return self.bracket(group, last),
            TokenTree::Ident(_) => self.last = Last::Name,
            TokenTree::Literal(_) => {}
            TokenTree::Punct(punct) => match punct.as_char() {
                ';' => self.end(),
                ',' => self.levels = ANGLE * self.angles + BAR * self.bars,
                '<' => self.angles += 1,
                '>' if last == Last::Equals => (self.angles, self.bars) = (0, 0),
                '>' if last == Last::Minus => {}
                '>' => self.angles = self.angles.saturating_sub(1),
                '|' => self.bars += 1,
                '#' => self.last = Last::Hash,
                '!' if last == Last::Hash => self.last = Last::Hash,
                '!' if last == Last::Name => self.last = Last::Macro,
                '-' if punct.spacing() == Spacing::Joint => self.last = Last::Minus,
                '=' if punct.spacing() == Spacing::Joint => self.last = Last::Equals,
                _ => {}
            },
        }
        None
    }

    fn bracket(&mut self, group: &Group, last: Last) -> Option<TokenStream> {
        match (last, group.delimiter()) {
            // Parsers leave the tokens of attributes and macros as they are.
            (Last::Hash, _) => {
                // Those of `#` and of the group.
                self.levels = self.levels.saturating_sub(OPERATOR + 1);
                None
            }
            (Last::Macro, delimiter) => {
                self.last = if delimiter == Delimiter::Brace { Last::Braces } else { Last::Other };
                None
            }
            (_, delimiter) => {
                self.last = if delimiter == Delimiter::Brace { Last::Braces } else { Last::Other };
                Some(group.stream())
            }
        }
    }

    /// Resets the counts after the end of an item or a statement.
    const fn end(&mut self) {
        (self.levels, self.angles, self.bars) = (0, 0, 0);
    }
}

/// Whether a token after braces may belong to the same expression.
fn goes_on(token: &TokenTree) -> bool {
    match token {
        TokenTree::Ident(name) => name == "else" || name == "as",
        TokenTree::Punct(punct) => punct.as_char() != '#',
        TokenTree::Group(_) => true,
        TokenTree::Literal(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_too_deep(source: &str) -> bool {
        too_deep(&source.parse().unwrap()).is_some()
    }

    fn nested(count: usize, open: &str, inner: &str, close: &str) -> String {
        format!("fn f() {{ {}{inner}{}; }}", open.repeat(count), close.repeat(count))
    }

    #[test]
    fn every_kind_of_nesting_counts() {
        let kinds = [
            ("(", "1", ")"),
            ("[", "1", "]"),
            ("{", "1", "}"),
            ("-", "1", ""),
            ("!", "1", ""),
            ("&", "1", ""),
            ("if a { } else ", "{ }", ""),
            ("return ", "1", ""),
            ("|a, b| ", "1", ""),
            ("a = ", "1", ""),
            ("1 + ", "1", ""),
            ("", "1", " as u8"),
            ("", "a", ".b()"),
            ("", "a", "?"),
            ("let x: ", "A", ""),
            ("A::<u8, ", "A", ">"),
            ("f(a, ", "1", ")"),
            ("match 1 { _ => ", "1", "}"),
            ("A { a: ", "1", "}"),
        ];
        for (open, inner, close) in kinds {
            assert!(!is_too_deep(&nested(30, open, inner, close)), "{open}");
            assert!(is_too_deep(&nested(1100, open, inner, close)), "{open}");
        }
    }

    #[test]
    fn what_follows_each_other_is_not_nested() {
        for text in [
            "fn f() { g(); }\n",
            "/// A\n#[inline]\npub fn f(a: A<u8, B>, b: u8) -> u8 { a.b().c() + 1 }\n",
            "const A: [u8; 3] = [1, 2, 3];\n",
            "impl A { fn f(&self) -> B { B { c: 1 } } }\n",
            "fn f() { match a { A | B => 1, C(_) => { 2 } D { .. } => 3, } }\n",
            "fn f() { match a { b if b < 1 => c, d => e, } }\n",
            "fn f() { if a { b } if a < b { c } else { d } }\n",
        ] {
            assert!(!is_too_deep(&text.repeat(2000)), "{text}");
        }
        let alternatives = "A | B | C => |a, b| 1, ".repeat(2000);
        assert!(!is_too_deep(&format!("fn f() {{ match a {{ {alternatives} }} }}")));
        let guards = "a if a < 1 => b::<C>(), ".repeat(2000);
        assert!(!is_too_deep(&format!("fn f() {{ match a {{ {guards} }} }}")));
        let list = "a::B::new(1), ".repeat(5000);
        assert!(!is_too_deep(&format!("const A: [B; 5000] = [{list}];")));
        // Tokens of a macro are not read.
        assert!(!is_too_deep(&format!("fn f() {{ a!({} {}) }}", "-".repeat(2000), "(".repeat(300) + &")".repeat(300))));
    }

    #[test]
    fn the_place_is_that_of_the_token() {
        let source = format!("fn f() {{\n a;\n {}1;\n}}", "-".repeat(2000));
        assert_eq!(too_deep(&source.parse().unwrap()).unwrap().start().line, 3);
    }
}
