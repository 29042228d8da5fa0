//! Reads the declarations of a C++ header that callers can name, one line each, with the types of arguments and fields.
//!
//! It accepts the C++ forms that the host's AscendC uses, after preprocessing, and panics at any other form.

use std::collections::BTreeSet;

/// The declarations in preprocessed text, except those in namespaces called `host`.
pub(super) fn declarations(text: &str) -> BTreeSet<String> {
    let tokens = tokens(text);
    let mut scan = Scan { tokens: &tokens, at: 0, found: BTreeSet::new() };
    scan.scope(&Place { prefix: "::".to_owned(), class: None });
    assert_eq!(scan.at, tokens.len(), "`}}` without its `{{`");
    scan.found
}

/// The tokens of a text: words, numbers, strings and punctuation. `::` and `...` are one token each.
fn tokens(text: &str) -> Vec<String> {
    let (mut tokens, mut rest) = (Vec::new(), text.trim_start());
    while let Some(first) = rest.chars().next() {
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let length = match first {
            '"' => rest[1..].find('"').expect("an end of the text") + 2,
            c if is_word(c) => rest.find(|c| !is_word(c)).unwrap_or(rest.len()),
            _ if rest.starts_with("::") => 2,
            _ if rest.starts_with("...") => 3,
            c => c.len_utf8(),
        };
        tokens.push(rest[..length].to_owned());
        rest = rest[length..].trim_start();
    }
    tokens
}

/// A namespace or a class, with the prefix of its declarations.
struct Place {
    prefix: String,
    class: Option<String>,
}

struct Scan<'text> {
    tokens: &'text [String],
    at: usize,
    found: BTreeSet<String>,
}

impl Scan<'_> {
    fn peek(&self, ahead: usize) -> &str {
        self.tokens.get(self.at + ahead).map_or("", String::as_str)
    }

    fn take(&mut self) -> &str {
        self.at += 1;
        self.tokens[self.at - 1].as_str()
    }

    /// Skips a bracketed part that begins here, and returns its inside.
    fn bracketed(&mut self) -> &[String] {
        let begin = self.at + 1;
        let mut depth = 0_usize;
        loop {
            match self.take() {
                "(" | "{" | "[" | "<" => depth += 1,
                ")" | "}" | "]" | ">" => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return &self.tokens[begin..self.at - 1];
            }
        }
    }

    /// Skips the body of a function, in which `<` and `>` are not brackets.
    fn body(&mut self) {
        let mut depth = 0_usize;
        loop {
            match self.take() {
                "{" => depth += 1,
                "}" => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return;
            }
        }
    }

    fn pass_statement(&mut self) {
        while self.take() != ";" {}
    }

    /// Reads declarations up to the end of the text or up to a `}`, which it leaves.
    fn scope(&mut self, place: &Place) {
        let (mut template, mut hidden) = (String::new(), place.class.is_some() && self.peek_back() == "class");
        while !matches!(self.peek(0), "" | "}") {
            match self.peek(0) {
                "namespace" => self.namespace(place),
                "template" => {
                    self.at += 1;
                    template = parameters(self.bracketed(), true);
                    continue;
                }
                "public" | "private" | "protected" => {
                    hidden = self.take() != "public";
                    self.at += 1;
                }
                "friend" | "static_assert" => self.pass_statement(),
                "struct" | "class" => self.class(place, &template, hidden),
                "union" => {
                    self.at += 2;
                    self.scope(place);
                    self.at += 2;
                }
                "enum" => self.enumeration(place),
                ";" => self.at += 1,
                _ => self.declaration(place, &template, hidden),
            }
            template.clear();
        }
    }

    /// The keyword of the class whose `{` was just skipped.
    fn peek_back(&self) -> &str {
        let before = self.tokens[..self.at].iter().rev();
        before.map(String::as_str).find(|token| matches!(*token, "class" | "struct" | "union")).unwrap_or("")
    }

    fn namespace(&mut self, place: &Place) {
        self.at += 1;
        let name: String = std::iter::from_fn(|| (self.peek(0) != "{").then(|| self.take().to_owned())).collect();
        if name.split("::").any(|part| part == "host") {
            return self.body();
        }
        assert!(name == "AscendC" && place.prefix == "::", "a namespace `{name}`");
        self.at += 1;
        self.scope(&Place { prefix: String::new(), class: None });
        self.at += 1;
    }

    fn class(&mut self, place: &Place, template: &str, hidden: bool) {
        self.at += 1;
        let name = self.take().to_owned();
        if self.peek(0) == ";" {
            return self.at += 1;
        }
        assert_eq!(self.peek(0), "{", "class {name}");
        if hidden {
            return self.pass_class();
        }
        let whole = format!("{}{name}{template}", place.prefix);
        self.found.insert(whole.clone());
        self.at += 1;
        self.scope(&Place { prefix: format!("{whole}."), class: Some(name) });
        self.at += 2;
    }

    fn pass_class(&mut self) {
        self.body();
        self.at += 1;
    }

    fn enumeration(&mut self, place: &Place) {
        self.at += 1;
        let scoped = matches!(self.peek(0), "class" | "struct");
        self.at += usize::from(scoped);
        let name = format!("{}{}", place.prefix, self.take());
        while self.peek(0) != "{" {
            self.at += 1;
        }
        let prefix = if scoped { format!("{name}.") } else { place.prefix.clone() };
        let names: Vec<String> = split(self.bracketed()).iter().map(|one| format!("{prefix}{}", one[0])).collect();
        self.found.extend(names);
        self.found.insert(name);
        self.at += 1;
    }

    /// Reads a function, a field, a constant or a type alias.
    fn declaration(&mut self, place: &Place, template: &str, hidden: bool) {
        if self.peek(0) == "using" {
            let name = format!("{}{}", place.prefix, self.peek(1));
            self.pass_statement();
            if !hidden {
                self.found.insert(name);
            }
            return;
        }
        let begin = self.at;
        let mut after_operator = false;
        loop {
            match self.peek(0) {
                "operator" => (after_operator, self.at) = (true, self.at + 1),
                // The parentheses of `operator()`.
                "(" if after_operator && self.peek(1) == ")" && self.peek(2) == "(" => self.at += 2,
                "(" => return self.function(begin, place, template, hidden),
                "=" | ";" | "{" => return self.variable(begin, place, hidden),
                "<" if !after_operator => {
                    self.bracketed();
                }
                _ => self.at += 1,
            }
        }
    }

    fn variable(&mut self, begin: usize, place: &Place, hidden: bool) {
        let (name, kind) = self.tokens[begin..self.at].split_last().expect("a name");
        let kind: Vec<String> = kind.iter().filter(|t| !is_specifier(t) && *t != "const").cloned().collect();
        let first = self.at + 1;
        self.pass_statement();
        let value = match self.tokens[first - 1].as_str() {
            "=" => format!(" = {}", joined(&self.tokens[first..self.at - 1])),
            _ => String::new(),
        };
        if !hidden {
            self.found.insert(format!("{}{name}: {}{value}", place.prefix, joined(&kind)));
        }
    }

    fn function(&mut self, begin: usize, place: &Place, template: &str, hidden: bool) {
        let head = &self.tokens[begin..self.at];
        let name = match head.iter().position(|token| token == "operator") {
            Some(at) => joined(&head[at..]),
            None => head.last().expect("a name").clone(),
        };
        let is_constructor = place.class.as_ref() == Some(&name);
        let arguments = parameters(self.bracketed(), false);
        let constant = if self.peek(0) == "const" { " const" } else { "" };
        while !matches!(self.peek(0), "{" | ";") {
            match self.peek(0) {
                "(" => drop(self.bracketed()),
                _ => self.at += 1,
            }
        }
        match self.peek(0) {
            "{" => self.body(),
            _ => self.at += 1,
        }
        if hidden {
            return;
        }
        let line = match is_constructor {
            true => format!("{}({arguments})", place.prefix.trim_end_matches('.')),
            false => format!("{}{name}{template}({arguments}){constant}", place.prefix),
        };
        self.found.insert(line);
    }
}

/// Splits a list at commas outside of brackets.
fn split(tokens: &[String]) -> Vec<&[String]> {
    let (mut parts, mut begin, mut depth) = (Vec::new(), 0, 0_usize);
    for (at, token) in tokens.iter().enumerate() {
        match token.as_str() {
            "(" | "{" | "[" | "<" => depth += 1,
            ")" | "}" | "]" | ">" => depth -= 1,
            "," if depth == 0 => {
                parts.push(&tokens[begin..at]);
                begin = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&tokens[begin..]);
    parts.retain(|part| !part.is_empty());
    parts
}

/// The parameters of a function, or those of a template with their names, without the `Where` parameter that the host adds.
fn parameters(tokens: &[String], of_template: bool) -> String {
    let parts = split(tokens);
    let named: Vec<String> = parts.iter().filter_map(|part| parameter(part, of_template)).collect();
    match (of_template, named.is_empty()) {
        (true, false) => format!("<{}>", named.join(", ")),
        _ => named.join(", "),
    }
}

fn parameter(part: &[String], of_template: bool) -> Option<String> {
    let end = part.iter().position(|token| token == "=").unwrap_or(part.len());
    let (mut kind, value) = (part[..end].to_vec(), &part[end..]);
    if kind.iter().any(|token| token == "Where") {
        return None;
    }
    if of_template {
        kind.retain(|token| token != "typename");
    } else {
        let brackets = kind.iter().position(|token| token == "[").unwrap_or(kind.len());
        let words = kind.iter().filter(|token| is_type_word(token)).count();
        if words > 1 && is_type_word(&kind[brackets - 1]) && kind[brackets - 2] != "::" {
            kind.remove(brackets - 1);
        }
    }
    // To a caller, `T`, `const T` and `const T &` are the same.
    let points = kind.iter().any(|token| matches!(token.as_str(), "*" | "["));
    if !points && kind[0] == "const" {
        kind.retain(|token| !matches!(token.as_str(), "const" | "&"));
    }
    let value = if value.is_empty() { String::new() } else { format!(" = {}", joined(&value[1..])) };
    Some(joined(&kind) + &value)
}

fn is_type_word(token: &str) -> bool {
    token != "const" && token.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
}

fn is_specifier(token: &str) -> bool {
    matches!(token, "inline" | "constexpr" | "static" | "mutable" | "volatile")
}

/// Joins tokens into one line.
fn joined(tokens: &[String]) -> String {
    let mut line = String::new();
    for token in tokens {
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let after_word = line.ends_with(|c| is_word(c) || c == '>');
        if after_word && token.starts_with(|c| is_word(c) || matches!(c, '*' | '&')) {
            line.push(' ');
        }
        line += token;
        if token == "," {
            line.push(' ');
        }
    }
    line
}
