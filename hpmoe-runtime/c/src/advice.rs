//! Rewords ways out for C. Errors of the runtime name Rust methods, and callers in C need their C equivalents.

use std::borrow::Cow;

/// Rust methods that errors of the runtime name, with their equivalents for callers in C.
pub(crate) const IN_C: &[(&str, &str)] = &[
    // The longer one of two names that begin alike comes first.
    ("Group::on_npus_from", "HpmoeOptions.npu"),
    ("Group::on_npus", "HpmoeOptions.device"),
    ("Group::capacity_rows", "HpmoeOptions.capacity_rows"),
    ("Group::time_limit", "HpmoeOptions.time_limit_ms"),
    ("Group::threads", "HpmoeOptions.threads"),
    ("Group::checks", "HpmoeOptions.checks"),
    ("Group::launch", "hpmoe_launch"),
    ("Group::fix", "hpmoe_fix"),
    ("Pending::wait", "hpmoe_wait"),
    ("Route::placed", "hpmoe_group_placed"),
    ("Group::placed", "hpmoe_group_placed"),
    ("PerRank::routed_in_chunks", "hpmoe_memory_table"),
    ("Joining::secret", "HpmoeJoining.secret"),
    ("Joining::let_anyone_join", "HpmoeJoining.let_anyone_join"),
];

/// Rust methods that errors of the runtime name, but only in errors that a caller in C can't get. Each has the reason.
#[cfg(test)]
const NOT_IN_C: &[(&str, &str)] = &[
    ("Joining::cancelled_by", "a panic of Group::cancelled_by, which is never called for processes"),
    ("PerRank::from_fn", "parts of other ranks can't be passed"),
    ("PerRank::with_room", "this interface checks the rows of a part itself"),
    ("PerRank::routed", "this interface checks the rows of a part itself"),
    ("Argument::on_npus", "this interface checks the device of a part itself"),
    ("Route::new", "this interface makes the route, and asks for ids itself"),
    ("Route::gather", "this interface makes the route, and asks for ids itself"),
    ("Route::of", "a place of the kernel's source"),
    ("Group::stamp_room", "a trace is none of the interface's reports"),
    ("Group::find_races", "this interface never asks for that search"),
];

/// The message with C names instead of Rust names.
pub(crate) fn in_c(message: &str) -> Cow<'_, str> {
    let mut message = Cow::Borrowed(message);
    for (rust, c) in IN_C {
        while let Some(start) = message.find(rust) {
            let rest = &message[start + rust.len()..];
            // A value in parentheses.
            let value = rest.strip_prefix('(').and_then(|rest| rest.split_once(')'));
            let value = value.filter(|(value, _)| !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit()));
            let (value, rest) = value.map_or((String::new(), rest), |(value, rest)| (format!(" = {value}"), rest));
            message = Cow::Owned(format!("{}{c}{value}{rest}", &message[..start]));
        }
    }
    message
}

#[cfg(test)]
mod tests {
    use super::*;
    use proc_macro2::{TokenStream, TokenTree};
    use std::collections::BTreeSet;
    use std::path::{Path, PathBuf};

    /// All Rust files below a folder, except tests.
    fn files(folder: &Path) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let each = entries.flat_map(|path| match (path.is_dir(), path.extension()) {
            (true, _) => files(&path),
            (false, Some(end)) if end == "rs" && !path.ends_with("tests.rs") => vec![path],
            _ => Vec::new(),
        });
        each.collect()
    }

    /// The string literals of a file, without documentation and tests.
    fn texts(tokens: TokenStream, texts: &mut Vec<String>) {
        let mut tokens = tokens.into_iter().peekable();
        while let Some(token) = tokens.next() {
            let is = |token: &TokenTree, wanted| matches!(token, TokenTree::Punct(punct) if punct.as_char() == wanted);
            if is(&token, '#') {
                tokens.next_if(|token| is(token, '!'));
            }
            match (token, tokens.peek()) {
                (TokenTree::Punct(hash), Some(TokenTree::Group(attribute))) if hash.as_char() == '#' => {
                    let attribute = attribute.stream().to_string();
                    if attribute.starts_with("doc") {
                        tokens.next();
                    } else if attribute.replace(' ', "") == "cfg(test)" {
                        // Up to the end of the item.
                        tokens.by_ref().find(|token| match token {
                            TokenTree::Group(group) => group.delimiter() == proc_macro2::Delimiter::Brace,
                            TokenTree::Punct(punct) => punct.as_char() == ';',
                            _ => false,
                        });
                    }
                }
                (TokenTree::Group(group), _) => self::texts(group.stream(), texts),
                (TokenTree::Literal(literal), _) => texts.push(literal.to_string()),
                _ => {}
            }
        }
    }

    /// All methods that messages of the runtime name.
    fn named() -> BTreeSet<String> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join("..");
        let mut all = Vec::new();
        for file in files(&root.join("hpmoe-runtime/src")).into_iter().chain(files(&root.join("kernels/src/route"))) {
            texts(std::fs::read_to_string(file).unwrap().parse().unwrap(), &mut all);
        }
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':';
        let words = all.iter().flat_map(|text| text.split(|c| !is_part(c)));
        let of_type = |word: &&str| {
            let parts = word.trim_end_matches(':').split_once("::");
            parts.is_some_and(|(ty, name)| {
                ty.starts_with(|c: char| c.is_ascii_uppercase()) && name.starts_with(|c: char| c.is_ascii_lowercase())
            })
        };
        words.filter(of_type).map(|word| word.trim_end_matches(':').to_owned()).collect()
    }

    #[test]
    fn every_method_that_an_error_names_exists_in_c() {
        let named = named();
        assert!(named.contains("Group::capacity_rows"), "{named:?}");
        let known: BTreeSet<&str> = IN_C.iter().chain(NOT_IN_C).map(|(rust, _)| *rust).collect();
        let named: BTreeSet<&str> = named.iter().map(String::as_str).collect();
        assert_eq!(
            named, known,
            "add a method that an error names to `IN_C`, or to `NOT_IN_C` with the reason; remove others"
        );
        let header = include_str!("../include/hpmoe.h");
        for (_, c) in IN_C {
            let exists = match c.split_once('.') {
                None => header.contains(&format!(" {c}(")),
                Some((structure, field)) => {
                    let start = header.find(&format!("typedef struct {structure} {{")).unwrap_or_else(|| panic!("{c}"));
                    let end = start + header[start..].find(&format!("}} {structure};")).unwrap();
                    header[start..end].split(|c: char| !c.is_ascii_alphanumeric() && c != '_').any(|word| word == field)
                }
            };
            assert!(exists, "`{c}` is not in hpmoe.h");
        }
    }

    #[test]
    fn values_stay_with_their_names() {
        assert_eq!(
            in_c("raise it with Group::capacity_rows(12) or"),
            "raise it with HpmoeOptions.capacity_rows = 12 or"
        );
        assert_eq!(in_c("lower Group::threads, or"), "lower HpmoeOptions.threads, or");
        assert_eq!(in_c("by Group::on_npus_from(3)"), "by HpmoeOptions.npu = 3");
        assert_eq!(in_c("nothing"), "nothing");
    }
}
