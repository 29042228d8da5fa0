//! Makes text from outside safe to print: file names, values of variables, and messages of other processes.
//!
//! A terminal interprets control characters as commands: they move the cursor, change colours, erase text and trigger
//! replies. Characters that change the writing direction make text look different from what it is.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::path::Path;

/// The text on one line. Each character that a terminal may act on is replaced by its Rust escape, such as `\u{1b}` or
/// `\n`: control characters, ends of lines, invisible characters, and characters that change the direction of writing.
///
/// ```
/// use hpmoe_kernels::printable::printable;
///
/// assert_eq!(printable("moe\u{1b}[2J.rs\n"), r"moe\u{1b}[2J.rs\n");
/// ```
#[must_use]
pub fn printable(text: &str) -> Cow<'_, str> {
    escaped(text, |_| false)
}

/// A text of several lines. Line feeds and tabs are kept; all other characters are escaped as by [`printable`].
#[must_use]
pub fn printable_lines(text: &str) -> Cow<'_, str> {
    escaped(text, |char| matches!(char, '\n' | '\t'))
}

/// A source text in which one visible character stands for each character that [`printable`] would escape, so that column
/// numbers stay valid. Line feeds, carriage returns and tabs are kept.
#[must_use]
pub fn printable_source(text: &str) -> Cow<'_, str> {
    let acts = |char: char| acts_on_terminals(char) && !matches!(char, '\n' | '\r' | '\t');
    if !text.contains(acts) {
        return Cow::Borrowed(text);
    }
    // Unicode has pictures of the controls of ASCII.
    let picture = |char: char| match char {
        '\0'..='\u{1f}' => char::from_u32(0x2400 + u32::from(char)).unwrap_or(char::REPLACEMENT_CHARACTER),
        '\u{7f}' => '\u{2421}',
        _ => char::REPLACEMENT_CHARACTER,
    };
    Cow::Owned(text.chars().map(|char| if acts(char) { picture(char) } else { char }).collect())
}

/// A file name on one line, escaped as by [`printable`].
#[must_use]
pub fn printable_path(path: &Path) -> String {
    printable(&path.to_string_lossy()).into_owned()
}

fn escaped(text: &str, stays: fn(char) -> bool) -> Cow<'_, str> {
    let acts = |char: char| acts_on_terminals(char) && !stays(char);
    if !text.contains(acts) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 8);
    for char in text.chars() {
        match char {
            '\n' | '\t' | '\r' if acts(char) => safe.extend(char.escape_default()),
            _ if acts(char) => drop(write!(safe, "\\u{{{:x}}}", u32::from(char))),
            _ => safe.push(char),
        }
    }
    Cow::Owned(safe)
}

/// Whether a terminal may act on a character: ASCII and Latin-1 controls, and Unicode characters that end lines, are invisible or change
/// the direction of writing.
fn acts_on_terminals(char: char) -> bool {
    char.is_control()
        || matches!(char, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn controls_are_escaped_and_everything_else_stays() {
        assert!(matches!(printable("größe 大 \\u{1b} `x`"), Cow::Borrowed(_)));
        assert_eq!(printable("a\u{1b}]0;title\u{7}\u{9b}1A\u{7f}\0"), r"a\u{1b}]0;title\u{7}\u{9b}1A\u{7f}\u{0}");
        assert_eq!(printable("one\ntwo\r\tthree"), r"one\ntwo\r\tthree");
        assert_eq!(printable("gnp\u{202e}.rs\u{feff}\u{2066}"), r"gnp\u{202e}.rs\u{feff}\u{2066}");
        assert_eq!(printable_path(Path::new("a\n.rs")), r"a\n.rs");
    }

    #[test]
    fn texts_keep_their_lines() {
        assert!(matches!(printable_lines("one\n\ttwo\n"), Cow::Borrowed(_)));
        assert_eq!(printable_lines("one\r\n\u{1b}[1mtwo"), "one\\r\n\\u{1b}[1mtwo");
    }

    #[test]
    fn sources_keep_their_columns() {
        assert_eq!(printable_source("a\u{1b}[2J\tb\r\n\u{7f}\u{202e}c"), "a␛[2J\tb\r\n␡\u{fffd}c");
        assert!(matches!(printable_source("fn f() {\r\n\t1\n}"), Cow::Borrowed(_)));
    }

    /// Checks that no character that a terminal may act on is left.
    #[test]
    fn nothing_that_acts_is_left() {
        let all: String = ('\0'..=char::MAX).collect();
        assert!(!printable(&all).contains(acts_on_terminals));
        assert!(!printable_lines(&all).contains(|char| acts_on_terminals(char) && char != '\n' && char != '\t'));
        assert_eq!(
            printable_source(&all).chars().filter(|char| acts_on_terminals(*char)).collect::<String>(),
            "\t\n\r"
        );
    }
}
