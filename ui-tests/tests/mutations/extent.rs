//! The extent of an operator's expression, within which another operator may change its value.

use std::ops::Range;

/// The range between the nearest delimiters around an operator: brackets, commas, semicolons, `?` and `:`, and
/// assignments, unless the operator is one itself.
pub fn extent(code: &str, operator: &Range<usize>) -> Range<usize> {
    let assigns = code[operator.clone()].ends_with('=') && !["==", "!=", "<=", ">="].contains(&&code[operator.clone()]);
    let bytes = code.as_bytes();
    let begin = begin(bytes, operator.start, assigns);
    let end = end(bytes, operator.end, assigns);
    let text = &code[begin..end];
    let text = text.trim_start();
    let text = text.strip_prefix("return ").or(text.strip_prefix("else ")).unwrap_or(text);
    let start = end - text.len();
    start..start + text.trim_end().len()
}

fn begin(bytes: &[u8], from: usize, assigns: bool) -> usize {
    let (mut at, mut depth) = (from, 0);
    while at > 0 {
        let here = at - 1;
        match bytes[here] {
            b')' | b']' => depth += 1,
            b'}' if depth > 0 || initializes(bytes, here) => depth += 1,
            b'>' if bracket(bytes, here) => depth += 1,
            b'(' | b'[' | b'{' if depth > 0 => depth -= 1,
            b'<' if bracket(bytes, here) && depth > 0 => depth -= 1,
            b'(' | b'[' | b'{' | b'}' => break,
            b'<' if bracket(bytes, here) => break,
            other if depth == 0 && ends(bytes, here, other, assigns) => break,
            _ => {}
        }
        at = here;
    }
    at
}

fn end(bytes: &[u8], from: usize, assigns: bool) -> usize {
    let (mut at, mut depth) = (from, 0);
    while at < bytes.len() {
        match bytes[at] {
            b'(' | b'[' | b'{' => depth += 1,
            b'<' if bracket(bytes, at) => depth += 1,
            b')' | b']' | b'}' if depth > 0 => depth -= 1,
            b'>' if bracket(bytes, at) && depth > 0 => depth -= 1,
            b')' | b']' | b'}' => break,
            b'>' if bracket(bytes, at) => break,
            // An assigned value may be a conditional expression.
            b'?' | b':' if assigns => {}
            other if depth == 0 && ends(bytes, at, other, assigns) => break,
            _ => {}
        }
        at += 1;
    }
    at
}

/// Whether a character between brackets ends an expression.
fn ends(bytes: &[u8], at: usize, character: u8, assigns: bool) -> bool {
    let before = at.checked_sub(1).map_or(b' ', |before| bytes[before]);
    let after = bytes.get(at + 1).copied().unwrap_or(b' ');
    match character {
        b',' | b';' | b'?' => true,
        b':' => before != b':' && after != b':',
        b'=' => !assigns && after != b'=' && !b"=!<>".contains(&before),
        _ => false,
    }
}

/// Whether `<` or `>` is part of template arguments: operators have a space before them.
fn bracket(bytes: &[u8], at: usize) -> bool {
    let before = at.checked_sub(1).map_or(b' ', |before| bytes[before]);
    let shifts = before == bytes[at] && at >= 2 && bytes[at - 2] == b' ';
    before != b' ' && before != b'-' && !shifts
}

/// Whether a closing brace ends the members of a value, as in `Lists{count}`, rather than a block.
fn initializes(bytes: &[u8], closing: usize) -> bool {
    let mut depth = 0;
    for at in (0..=closing).rev() {
        match bytes[at] {
            b'}' => depth += 1,
            b'{' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at > 0 && (bytes[at - 1].is_ascii_alphanumeric() || bytes[at - 1] == b'>');
        }
    }
    false
}
