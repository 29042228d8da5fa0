//! Turns names of users into C++ names.

use crate::collections::SortedSet;

/// C++ keywords, which can't be names.
const KEYWORDS: &[&str] = &[
    "alignas",
    "alignof",
    "and",
    "asm",
    "auto",
    "bitand",
    "bitor",
    "bool",
    "break",
    "case",
    "catch",
    "char",
    "class",
    "compl",
    "const",
    "constexpr",
    "continue",
    "decltype",
    "default",
    "delete",
    "do",
    "double",
    "else",
    "enum",
    "explicit",
    "export",
    "extern",
    "false",
    "float",
    "for",
    "friend",
    "goto",
    "half",
    "if",
    "inline",
    "int",
    "long",
    "mutable",
    "namespace",
    "new",
    "noexcept",
    "not",
    "nullptr",
    "operator",
    "or",
    "private",
    "protected",
    "public",
    "register",
    "return",
    "short",
    "signed",
    "sizeof",
    "static",
    "struct",
    "switch",
    "template",
    "this",
    "throw",
    "true",
    "try",
    "typedef",
    "typeid",
    "typename",
    "union",
    "unsigned",
    "using",
    "virtual",
    "void",
    "volatile",
    "while",
    "xor",
];

/// Turns text into a C++ name of letters, digits and single underscores; never a keyword.
pub(in crate::emit) fn identifier(text: &str) -> String {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let mut name = words.collect::<Vec<_>>().join("_");
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
        name.insert_str(0, "n_");
    }
    if KEYWORDS.contains(&name.as_str()) {
        name.push('_');
    }
    name
}

/// The names that are already used in one C++ scope.
#[derive(Clone, Debug, Default)]
pub(in crate::emit) struct Scope {
    taken: SortedSet<String>,
}

impl Scope {
    /// A scope that already contains these names.
    pub(in crate::emit) fn with(taken: &[&str]) -> Self {
        Self { taken: taken.iter().map(|&name| name.to_owned()).collect() }
    }

    /// `text` as an identifier that is not used yet: underscores and then numbers are added if it is taken.
    pub(in crate::emit) fn new_name(&mut self, text: &str) -> String {
        let plain = identifier(text);
        let numbered = |number: u32| match number {
            0 => plain.clone(),
            1 => format!("{}_", plain.trim_end_matches('_')),
            _ => format!("{}_{number}", plain.trim_end_matches('_')),
        };
        let name = (0..).map(numbered).find(|name| !self.taken.contains(name)).expect("some number gives a free name");
        self.taken.insert(name.clone());
        name
    }
}

/// A constant's name in its declaration, marked so that compilers don't warn if the kernel never uses it.
pub(crate) fn maybe_unused(name: &str) -> String {
    format!("{name} [[maybe_unused]]")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rust_names_become_cpp_names() {
        assert_eq!(identifier("h"), "h");
        assert_eq!(identifier("(token, k)"), "token_k");
        assert_eq!(identifier("double"), "double_");
        assert_eq!(identifier("__x"), "x");
        assert_eq!(identifier("16"), "n_16");
    }

    #[test]
    fn names_of_a_scope_differ() {
        let mut names = Scope::with(&["core"]);
        assert_eq!(["core", "x", "x", "x"].map(|name| names.new_name(name)), ["core_", "x", "x_", "x_2"]);
    }
}
