//! C++ text, parsed as far as needed to change its statements and expressions.

use std::ops::Range;

/// A header of the device library or a generated file.
pub struct Source {
    /// Its file name, as in `core.h` or `ffn.cpp`.
    pub name: String,
    pub text: String,
    /// The text, in which comments and preprocessor lines are blanks; it has the same length.
    pub code: String,
    /// The functions and their starts, in ascending order.
    functions: Vec<(usize, String)>,
}

/// The name of the constant that a declaration defines.
pub fn constant_name(declaration: &str) -> Option<&str> {
    let head = declaration.split(" = ").next()?.trim_end_matches(" [[maybe_unused]]");
    head.rsplit(' ').next()
}

impl Source {
    pub fn new(name: impl Into<String>, text: String) -> Self {
        let code = blanked(&text);
        let functions = functions(&code);
        Self { name: name.into(), text, code, functions }
    }

    /// Whether it is generated, rather than a header of the device library.
    pub fn generated(&self) -> bool {
        self.name.ends_with(".cpp")
    }

    pub fn line(&self, at: usize) -> usize {
        1 + self.text[..at].matches('\n').count()
    }

    /// The function that contains a place; for a generated switch, the case and its task.
    pub fn function(&self, at: usize) -> &str {
        self.functions.iter().rev().find(|(from, _)| *from <= at).map_or("", |(_, name)| name)
    }

    /// The starts of statements that begin with `head`.
    pub fn statements<'a>(&'a self, head: &'a str) -> impl Iterator<Item = usize> + 'a {
        let begins = |&(at, _): &(usize, &str)| {
            let before = self.code[..at].trim_end();
            match before.strip_suffix('{') {
                // A block: the values of a struct are in a brace directly after its name.
                Some(before) => before.ends_with(char::is_whitespace),
                None => matches!(before.chars().next_back(), Some(';' | '}' | ':') | None),
            }
        };
        self.code.match_indices(head).filter(begins).map(|(at, _)| at)
    }

    /// A statement from its start to its end: the semicolon, or for an `if` the end of its block.
    pub fn statement(&self, at: usize) -> Range<usize> {
        let block = self.code[at..].starts_with("if ");
        let mut depth = 0i32;
        for (offset, c) in self.code[at..].char_indices() {
            match c {
                '(' | '{' | '[' => depth += 1,
                ')' | ']' => depth -= 1,
                '}' => {
                    depth -= 1;
                    if block && depth == 0 {
                        return at..at + offset + 1;
                    }
                }
                ';' if depth == 0 => return at..at + offset + 1,
                _ => {}
            }
        }
        panic!("{}:{}: this statement does not end", self.name, self.line(at));
    }

    /// The statement that follows a place, on one line.
    pub fn next_statement(&self, from: usize) -> String {
        let begin = from + self.code[from..].len() - self.code[from..].trim_start().len();
        let end = self.code[begin..].find([';', '{', '}']).map_or(begin, |offset| begin + offset);
        squeezed(&self.code[begin..end])
    }

    /// The text with some ranges replaced.
    pub fn changed(&self, edits: impl Iterator<Item = (Range<usize>, String)>) -> String {
        let mut edits: Vec<_> = edits.collect();
        edits.sort_by_key(|(range, _)| range.start);
        let mut text = self.text.clone();
        for (range, with) in edits.into_iter().rev() {
            text.replace_range(range, &with);
        }
        text
    }
}

/// Maximal ranges of characters with this property.
pub fn stretches(text: &str, is_part: impl Fn(char) -> bool) -> impl Iterator<Item = Range<usize>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let begin = at + text[at..].find(&is_part)?;
        let end = text[begin..].find(|c| !is_part(c)).map_or(text.len(), |length| begin + length);
        at = end;
        Some(begin..end)
    })
}

/// One line with single spaces.
pub fn squeezed(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace("( ", "(")
}

fn blanked(text: &str) -> String {
    let mut all = String::with_capacity(text.len());
    let mut comment = false;
    for line in text.split_inclusive('\n') {
        let code = if line.starts_with('#') { "" } else { line.split("//").next().unwrap_or_default() };
        let mut kept = String::with_capacity(line.len());
        let mut rest = code;
        while let Some(offset) = rest.find(if comment { "*/" } else { "/*" }) {
            let end = offset + if comment { 2 } else { 0 };
            kept.push_str(&if comment { " ".repeat(end) } else { rest[..end].to_owned() });
            rest = &rest[end..];
            comment = !comment;
        }
        kept.push_str(&if comment { " ".repeat(rest.len()) } else { rest.to_owned() });
        let end = line.trim_end_matches('\n').len();
        kept.truncate(end);
        all.extend(kept.bytes().chain(std::iter::repeat(b' ')).take(end).map(char::from));
        all.push_str(&line[end..]);
    }
    all
}

fn functions(code: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut at = 0;
    for line in code.split_inclusive('\n') {
        let head = line.trim_start();
        if line.contains("HPMOE_INLINE") || line.contains("HPMOE_ROUTINE") {
            let before = line.split('(').next().unwrap_or_default();
            found.extend(before.split([' ', '*', '&']).next_back().map(|name| (at, name.to_owned())));
        } else if let Some(number) = head.strip_prefix("case ").and_then(|rest| rest.split(':').next()) {
            let task = code[at..].split("task::").nth(1).and_then(|rest| rest.split('(').next()).unwrap_or_default();
            found.push((at, format!("case {number} {task}")));
        }
        at += line.len();
    }
    found
}
