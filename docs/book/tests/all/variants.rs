//! The README's table of variants counts the lines of their kernel modules that differ from the plain one, and nothing else knows of variants.

use crate::pages::root;
use similar::{DiffOp, TextDiff};
use std::fs::read_to_string;
use std::path::{Path, PathBuf};

/// The layer that others are variants of.
const PLAIN: &str = "moe_ffn";

/// Lines that differ from the plain module.
#[derive(Default, PartialEq, Debug)]
struct Lines {
    changed: usize,
    added: usize,
    removed: usize,
}

#[test]
fn the_table_of_variants_is_current() {
    let readme = read(&root().join("README.md"));
    let rows: Vec<&str> = readme.lines().filter(|line| line.starts_with("| [moe_")).collect();
    assert!(!rows.is_empty(), "the README has a row `| [moe_…](examples/…) | what | changed | added | removed |`");
    for row in rows {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let (name, _) = cells[1][1..].split_once(']').unwrap();
        let Lines { changed, added, removed } = against_the_plain_one(name);
        let expected = [changed, added, removed].map(|count| count.to_string());
        assert_eq!(cells[3..6], expected, "{name}: write `| {changed} | {added} | {removed} |`");
    }
    for name in variants() {
        assert!(readme.contains(&format!("| [{name}](examples/{name}.rs) |")), "the README has no row for {name}");
    }
}

#[test]
fn the_first_screen_states_lines_of_the_table() {
    let text = read(&root().join("README.md"));
    let readme = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let lines = |name| {
        let Lines { changed, added, .. } = against_the_plain_one(name);
        changed + added
    };
    let expected = format!(
        "a shared expert changes or adds {} lines, int8 weights {}, a router inside the kernel {}.",
        lines("moe_shared"),
        lines("moe_int8"),
        lines("moe_router")
    );
    assert!(readme.contains(&expected), "write: {expected}");
    let clipped = against_the_plain_one("moe_clipped");
    assert_eq!(
        (clipped.changed, clipped.added),
        (1, 1),
        "the README says that moe_clipped changes one line and adds one"
    );
    let rows = text.lines().filter(|line| line.starts_with("| [moe_")).count();
    assert_eq!(rows, 10, "the README says that its table has ten variants");
}

#[test]
fn the_compiler_and_the_device_library_know_no_variant() {
    let variants: Vec<String> = variants().collect();
    assert!(!variants.is_empty());
    let mut open = ["hpmoe-core/src", "kernels/include", "kernels/tasks"].map(|folder| root().join(folder)).to_vec();
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            continue;
        }
        let text = read(&path);
        let named = variants.iter().find(|name| text.contains(name.as_str()));
        assert_eq!(named, None, "{} names a variant", path.display());
    }
}

fn against_the_plain_one(name: &str) -> Lines {
    let (plain, variant) = (kernel(PLAIN), kernel(name));
    let mut lines = Lines::default();
    for op in TextDiff::from_lines(&plain, &variant).ops() {
        match *op {
            DiffOp::Equal { .. } => {}
            DiffOp::Insert { new_len, .. } => lines.added += new_len,
            DiffOp::Delete { old_len, .. } => lines.removed += old_len,
            DiffOp::Replace { old_len, new_len, .. } => {
                lines.changed += old_len.min(new_len);
                lines.added += new_len.saturating_sub(old_len);
                lines.removed += old_len.saturating_sub(new_len);
            }
        }
    }
    lines
}

/// A kernel module without comments, empty lines, indentation and its own name, each call in one line.
fn kernel(name: &str) -> String {
    let source = read(&example(name));
    let (_, module) = source.split_once(&format!("pub mod {name} {{\n")).expect("an example's kernel has its name");
    let (module, _) = module.split_once("\n}\n").expect("the kernel ends");
    let code = |line: &&str| !line.is_empty() && !line.starts_with("//");
    let (mut text, mut in_call) = (String::new(), false);
    for line in module.lines().map(str::trim).filter(code) {
        // How a call is broken says nothing of what differs: a size that it tells makes five lines of one.
        in_call = (in_call || line.ends_with('(') && !line.starts_with("pub fn ")) && line != ");";
        text.push_str(line);
        match in_call {
            true if line.ends_with('(') => {}
            true => text.push(' '),
            false => text.push('\n'),
        }
    }
    text.replace(", );", ");")
}

/// Examples that differ from the plain layer.
fn variants() -> impl Iterator<Item = String> {
    example_names().filter(|name| name != PLAIN && read(&example(name)).contains("impl Example for"))
}

fn example_names() -> impl Iterator<Item = String> {
    let files = std::fs::read_dir(examples()).unwrap().map(|entry| entry.unwrap().path());
    files
        .filter(|path| path.extension().is_some_and(|ending| ending == "rs"))
        .map(|path| path.file_stem().unwrap().to_string_lossy().into_owned())
}

fn examples() -> PathBuf {
    root().join("examples")
}

fn example(name: &str) -> PathBuf {
    examples().join(format!("{name}.rs"))
}

fn read(path: &Path) -> String {
    read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
