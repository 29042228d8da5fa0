//! Packages, folders and targets that commands of cargo name exist: in blocks of commands and in code spans of all pages.

use crate::links::OTHERS;
use crate::pages::{Page, pages, root};
use pulldown_cmark::{Event, Tag, TagEnd};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Targets of a package by their kind: `example`, `bin` or `test`.
type Targets = BTreeSet<(&'static str, String)>;

/// Kinds of target that options of cargo name.
const KINDS: [&str; 3] = ["example", "bin", "test"];

#[test]
fn commands_of_cargo_name_what_exists() {
    let workspace = Workspace::read();
    let others = OTHERS.map(|path| Page::read(Path::new(path)));
    let (mut faults, mut named) = (Vec::new(), 0);
    for page in pages().iter().chain(&others) {
        for (line, command) in commands(page) {
            let names = names(&command);
            named += names.len();
            faults.extend(workspace.fault(&names).map(|fault| format!("{}: `{command}`: {fault}", page.place(line))));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(named > 100, "{named} packages, folders and targets: are the commands still there?");
}

#[test]
fn what_does_not_exist_is_a_fault() {
    let workspace = Workspace::read();
    let fault = |command| workspace.fault(&names(command));
    assert_eq!(fault("cargo install --path tools/cli"), None);
    assert_eq!(fault("cargo install --path hpmoe-cli"), Some("hpmoe-cli has no Cargo.toml".to_owned()));
    assert_eq!(fault("cargo test -p hpmoe-book --test all -- --test none"), None);
    assert_eq!(fault("cargo test --package=hpmoe-books"), Some("there is no package hpmoe-books".to_owned()));
    assert_eq!(fault("cargo test -p hpmoe-book --test al"), Some("there is no test al of hpmoe-book".to_owned()));
    assert_eq!(fault("cargo run --example moe_fn"), Some("there is no example moe_fn".to_owned()));
}

/// Commands of cargo in blocks of code and code spans, from the word `cargo` on, each with its line.
fn commands(page: &Page) -> Vec<(usize, String)> {
    let (mut found, mut in_block) = (Vec::new(), false);
    for (event, line) in page.events() {
        match event {
            Event::Start(Tag::CodeBlock(_)) => in_block = true,
            Event::End(TagEnd::CodeBlock) => in_block = false,
            Event::Text(text) if in_block => {
                // A block comes as one text, or line by line.
                for (below, row) in text.lines().enumerate() {
                    found.extend(command(row).map(|command| (line + below, command)));
                }
            }
            Event::Code(text) => found.extend(command(&text).map(|command| (line, command))),
            _ => {}
        }
    }
    found
}

fn command(text: &str) -> Option<String> {
    let text = text.split(" # ").next().unwrap_or_default();
    let start = text.find("cargo ").filter(|&at| at == 0 || text[..at].ends_with(' '))?;
    let command = text[start..].split("&&").next().unwrap_or_default();
    Some(command.trim_end_matches('\\').trim().to_owned())
}

/// The options of a command that name something, with these names.
fn names(command: &str) -> Vec<(&'static str, String)> {
    // Arguments of cargo end at `--`.
    let mut words = command.split_whitespace().take_while(|word| *word != "--");
    let mut found = Vec::new();
    while let Some(word) = words.next() {
        let (option, value) = word.split_once('=').map_or((word, None), |(option, value)| (option, Some(value)));
        let kind = match option {
            "-p" | "--package" => "package",
            "--path" => "path",
            _ => match option.strip_prefix("--").and_then(|option| KINDS.into_iter().find(|kind| *kind == option)) {
                Some(kind) => kind,
                None => continue,
            },
        };
        found.extend(value.or_else(|| words.next()).map(|value| (kind, value.to_owned())));
    }
    found
}

/// All packages of the workspace by their names.
struct Workspace(BTreeMap<String, Targets>);

impl Workspace {
    fn read() -> Self {
        let (mut packages, mut open) = (BTreeMap::new(), vec![root()]);
        while let Some(folder) = open.pop() {
            packages.extend(package(&folder));
            let folders = entries(&folder).into_iter().filter(|path| {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                // A build of the wheel leaves copies of packages in python/build.
                let copies = path.ends_with("python/build");
                path.is_dir() && !path.is_symlink() && name != "target" && !name.starts_with('.') && !copies
            });
            open.extend(folders);
        }
        Self(packages)
    }

    fn fault(&self, names: &[(&'static str, String)]) -> Option<String> {
        let of = |wanted| names.iter().filter(move |(kind, _)| *kind == wanted).map(|(_, name)| name.as_str());
        if let Some(path) = of("path").find(|path| !root().join(path).join("Cargo.toml").exists()) {
            return Some(format!("{path} has no Cargo.toml"));
        }
        if let Some(package) = of("package").find(|name| !self.0.contains_key(*name)) {
            return Some(format!("there is no package {package}"));
        }
        let packages: Vec<&str> = of("package").collect();
        let asked = |name: &str| packages.is_empty() || packages.contains(&name);
        let target = names
            .iter()
            .filter(|(kind, _)| KINDS.contains(kind))
            .find(|target| !self.0.iter().any(|(name, targets)| asked(name) && targets.contains(target)));
        target.map(|(kind, name)| match packages.as_slice() {
            [] => format!("there is no {kind} {name}"),
            packages => format!("there is no {kind} {name} of {}", packages.join(" or ")),
        })
    }
}

/// Name and targets of the package in a folder. `None` if the folder has none, or one with a workspace of its own.
fn package(folder: &Path) -> Option<(String, Targets)> {
    let manifest = fs::read_to_string(folder.join("Cargo.toml")).ok()?;
    if !manifest.contains("[package]\n") || manifest.contains("\n[workspace]") {
        return None;
    }
    let (mut package, mut targets, mut section) = (None, Targets::new(), "");
    for line in manifest.lines() {
        if line.starts_with('[') {
            section = line.trim_matches(['[', ']']);
        } else if let Some(name) = line.strip_prefix("name = ") {
            let name = name.trim_matches('"').to_owned();
            match KINDS.into_iter().find(|kind| *kind == section) {
                Some(kind) => _ = targets.insert((kind, name)),
                None if section == "package" => package = Some(name),
                None => {}
            }
        }
    }
    let package = package?;
    // Targets that cargo finds by their places.
    if folder.join("src/main.rs").exists() {
        targets.insert(("bin", package.clone()));
    }
    for (kind, place) in [("test", "tests"), ("example", "examples"), ("bin", "src/bin")] {
        let of_place = entries(&folder.join(place)).into_iter().filter(|path| match path.extension() {
            Some(extension) => extension == "rs",
            None => path.join("main.rs").exists(),
        });
        targets.extend(of_place.filter_map(|path| Some((kind, path.file_stem()?.to_str()?.to_owned()))));
    }
    Some((package, targets))
}

/// What is in a folder; nothing if there is none.
fn entries(folder: &Path) -> Vec<std::path::PathBuf> {
    fs::read_dir(folder).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path())).collect()
}
