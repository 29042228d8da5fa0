//! Messages name environment variables, options and methods as ways out. Each must exist where its message appears. These tests cover
//! Rust and the commands. (`hpmoe-c` compares the names in C with the names in Rust, and the Python package compares its names with
//! those in C.)

use crate::sources::root;
use proc_macro2::{Delimiter, TokenStream, TokenTree};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use syn::{ImplItem, Item, Type, Visibility};

/// Folders with all messages that users read.
const FOLDERS: [&str; 11] = [
    "hpmoe-core/build/src",
    "hpmoe-core/src",
    "hpmoe-macros/expansion/src",
    "hpmoe-runtime/c/src",
    "hpmoe-runtime/src",
    "examples/support",
    "kernels/cxx/src",
    "kernels/src",
    "tools/cli/src",
    "tools/doctor/src",
    "tools/simulator/src",
];

/// Options of other programs.
const FOREIGN: [&str; 6] = [
    // cargo
    "--example",
    "--release",
    // docker
    "--privileged",
    // setarch
    "--addr-no-randomize",
    // CANN's compiler, g++, rustc
    "--help",
    "--version",
];

/// All files below a folder with this ending.
fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let paths = entries.map(|entry| entry.unwrap().path());
    let each = paths.flat_map(|path| match path.is_dir() {
        true => files(&path, ending),
        false if path.extension().is_some_and(|end| end == ending) => vec![path],
        false => Vec::new(),
    });
    each.collect()
}

/// Whether a file contains tests, or helpers of tests.
fn is_test(path: &Path) -> bool {
    let text = path.to_string_lossy();
    text.contains("/tests") || text.ends_with("tests.rs") || text.contains("/check_") || text.ends_with("/bindings.rs")
}

/// The texts of all folders, each with its file, excluding documentation and tests.
fn texts(folders: &[&str]) -> Vec<(PathBuf, String)> {
    let mut all = Vec::new();
    for folder in folders {
        for file in files(&root().join(folder), "rs").into_iter().filter(|file| !is_test(file)) {
            let mut of_file = Vec::new();
            literals(fs::read_to_string(&file).unwrap().parse().unwrap(), &mut of_file);
            all.extend(of_file.into_iter().map(|text| (file.clone(), text)));
        }
    }
    all
}

fn literals(tokens: TokenStream, texts: &mut Vec<String>) {
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        let is = |token: &TokenTree, wanted| matches!(token, TokenTree::Punct(punct) if punct.as_char() == wanted);
        let hash = is(&token, '#');
        if hash {
            tokens.next_if(|token| is(token, '!'));
        }
        match (token, tokens.peek()) {
            (_, Some(TokenTree::Group(attribute))) if hash => {
                let attribute = attribute.stream().to_string().replace(' ', "");
                if attribute.starts_with("doc") {
                    tokens.next();
                } else if attribute.starts_with("cfg(") && attribute.contains("test") {
                    // Up to the end of the item.
                    tokens.by_ref().find(|token| match token {
                        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
                        token => is(token, ';'),
                    });
                }
            }
            (TokenTree::Group(group), _) => literals(group.stream(), texts),
            (TokenTree::Literal(literal), _) if literal.to_string().contains('"') => {
                texts.push(literal.to_string().replace("\\n", "\n").replace("\\\"", "\""));
            }
            _ => {}
        }
    }
}

/// The words of a text: sequences of characters that are allowed in names, or that `more` contains.
fn words<'a>(text: &'a str, more: &'a [char]) -> impl Iterator<Item = &'a str> {
    text.split(move |c: char| !c.is_ascii_alphanumeric() && c != '_' && !more.contains(&c))
}

/// A literal without its quotation marks.
fn whole(text: &str) -> &str {
    text.trim_matches('"')
}

#[test]
fn every_variable_that_a_message_names_is_read() {
    let texts = texts(&FOLDERS);
    let python = files(&root().join("python/src"), "py").into_iter().map(|file| fs::read_to_string(file).unwrap());
    let python: String = python.collect();
    let headers = files(&root().join("kernels/include"), "h")
        .into_iter()
        .chain(files(&root().join("hpmoe-runtime/c/include"), "h"));
    let headers: String = headers.map(|file| fs::read_to_string(file).unwrap()).collect();
    let defined: BTreeSet<&str> = words(&headers, &[]).collect();
    let read: BTreeSet<&str> = texts.iter().map(|(_, text)| whole(text)).collect();
    let mut count = 0;
    for (file, text) in &texts {
        for name in words(text, &[]).filter(|word| word.starts_with("HPMOE_") && *word != "HPMOE_") {
            let by_python =
                python.contains(&format!("environ.get(\"{name}\"")) || python.contains(&format!("more[\"{name}\"]"));
            assert!(
                read.contains(name) || defined.contains(name) || by_python,
                "{}: nothing reads {name}, which this names: {text}",
                file.display()
            );
            count += usize::from(whole(text) != name);
        }
    }
    assert!(count > 20, "messages name variables");
}

/// The options that a command declares, with clap's attributes or getopts.
fn options(folders: &[&str]) -> BTreeSet<String> {
    let mut options = BTreeSet::new();
    for file in folders.iter().flat_map(|folder| files(&root().join(folder), "rs")) {
        let text = fs::read_to_string(file).unwrap();
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        for (number, line) in lines.iter().enumerate() {
            if line.starts_with("#[arg(long") || line.starts_with("#[arg(") && line.contains(" long") {
                let named = line.split_once("long = \"").map(|(_, rest)| rest.split('"').next().unwrap().to_owned());
                let field = || {
                    let field =
                        lines[number..].iter().find(|line| line.starts_with("pub(crate) ") || line.starts_with("pub "));
                    let name = field.unwrap().split(':').next().unwrap().rsplit(' ').next().unwrap();
                    name.trim_start_matches("r#").replace('_', "-")
                };
                options.insert(format!("--{}", named.unwrap_or_else(field)));
            }
        }
        for declared in ["optopt", "optflag", "optmulti", "optflagopt"] {
            for (at, _) in text.match_indices(&format!("{declared}(\"")) {
                let name = text[at..].split('"').nth(3).unwrap();
                options.insert(format!("--{name}"));
            }
        }
    }
    options
}

#[test]
fn every_option_that_a_message_names_exists_where_the_message_appears() {
    let command = options(&["tools/cli/src", "tools/doctor/src"]);
    let examples = options(&["examples/support"]);
    assert!(command.contains("--target") && examples.contains("--processes"), "{command:?} {examples:?}");
    let surfaces: [(&[&str], &[&BTreeSet<String>]); 4] = [
        // Builds and the macro: their users have the command.
        (&["hpmoe-core/build/src", "hpmoe-core/src", "hpmoe-macros/expansion/src", "tools/simulator/src"], &[&command]),
        (&["tools/cli/src", "tools/doctor/src"], &[&command]),
        (&["examples/support"], &[&examples]),
        // Users' programs, in any language: they have no options of hpmoe.
        (&["hpmoe-runtime/src", "hpmoe-runtime/c/src", "kernels/src", "kernels/cxx/src"], &[]),
    ];
    for (folders, known) in surfaces {
        for (file, text) in texts(folders) {
            // Single arguments are those of other programs.
            if whole(&text).starts_with("--") || whole(&text).starts_with("-") {
                continue;
            }
            for option in words(&text, &['-']).filter(|word| word.len() > 3 && word.starts_with("--")) {
                let option = option.trim_end_matches('-');
                let exists = known.iter().any(|known| known.contains(option)) || FOREIGN.contains(&option);
                assert!(
                    exists || option == "--",
                    "{}: there is no option {option}, which this names: {text}",
                    file.display()
                );
            }
        }
    }
}

/// The public methods of all types that kernels, programs and build scripts use, such as `Group::threads`.
fn methods() -> BTreeSet<String> {
    let mut methods = BTreeSet::new();
    for file in ["hpmoe-runtime/src", "kernels/src", "hpmoe-core/build/src"]
        .iter()
        .flat_map(|folder| files(&root().join(folder), "rs"))
    {
        for item in syn::parse_file(&fs::read_to_string(file).unwrap()).unwrap().items {
            let Item::Impl(item) = item else { continue };
            let Type::Path(path) = &*item.self_ty else { continue };
            let name = path.path.segments.last().unwrap().ident.to_string();
            for item in item.items {
                if let ImplItem::Fn(function) = item
                    && matches!(function.vis, Visibility::Public(_))
                {
                    methods.insert(format!("{name}::{}", function.sig.ident));
                }
            }
        }
    }
    methods
}

#[test]
fn every_method_that_a_message_names_exists() {
    let methods = methods();
    let types: BTreeSet<&str> = methods.iter().map(|method| method.split(':').next().unwrap()).collect();
    let mut count = 0;
    for (file, text) in texts(&FOLDERS) {
        for word in words(&text, &[':']) {
            let Some((ty, name)) = word.trim_end_matches(':').split_once("::") else { continue };
            if types.contains(ty) && name.starts_with(|c: char| c.is_ascii_lowercase()) && !name.contains(':') {
                assert!(
                    methods.contains(&format!("{ty}::{name}")),
                    "{}: there is no {ty}::{name}, which this names: {text}",
                    file.display()
                );
                count += 1;
            }
        }
    }
    assert!(count > 20, "messages name methods");
}
