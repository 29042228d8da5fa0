//! Sources of packages without their tests: modules, the items that each defines, and the paths in its code.

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens as _;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use syn::{Item, UseTree, Visibility};

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The roots of all libraries and programs of the workspace: `src/lib.rs` and `src/main.rs` of each package.
pub(crate) fn packages(root: &Path) -> Vec<PathBuf> {
    let manifest = fs::read_to_string(root.join("Cargo.toml")).expect("the workspace's manifest");
    let members = manifest.split_once("members = [").and_then(|(_, rest)| rest.split_once(']')).expect("members").0;
    let folders = members.split('"').skip(1).step_by(2).map(|folder| root.join(folder));
    folders
        .flat_map(|folder| ["src/lib.rs", "src/main.rs"].map(|file| folder.join(file)))
        .filter(|file| file.exists())
        .collect()
}

/// The modules of a library or program; the root comes first.
pub(crate) struct Package {
    pub(crate) modules: Vec<Module>,
}

/// A module, without its tests.
#[derive(Default)]
pub(crate) struct Module {
    pub(crate) file: PathBuf,
    parent: Option<usize>,
    children: BTreeMap<String, usize>,
    /// Names that it re-exports, with the path of each, and paths from which it re-exports all names.
    handed_on: BTreeMap<String, Vec<String>>,
    all_handed_on: Vec<Vec<String>>,
    defined: BTreeSet<String>,
    /// Single names in its code. Macro names keep their mark, as in `println!`.
    pub(crate) names: BTreeSet<String>,
    /// Paths in its code.
    pub(crate) paths: Vec<Vec<String>>,
}

impl Package {
    pub(crate) fn read(root: &Path) -> Self {
        let mut package = Self { modules: Vec::new() };
        package.add_file(root, None, root.parent().expect("a folder"));
        package
    }

    /// The module directly below the root that contains a module; `None` for the root.
    pub(crate) fn top(&self, module: usize) -> Option<&str> {
        let parent = self.modules[module].parent?;
        if parent != 0 {
            return self.top(parent);
        }
        let mut children = self.modules[0].children.iter();
        children.find_map(|(name, child)| (*child == module).then_some(name.as_str()))
    }

    /// Reads a file. Its child modules are in `folder`.
    fn add_file(&mut self, file: &Path, parent: Option<usize>, folder: &Path) -> usize {
        let text = fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let parsed = syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        self.add(file, parent, folder, parsed.items)
    }

    fn add(&mut self, file: &Path, parent: Option<usize>, folder: &Path, items: Vec<Item>) -> usize {
        let number = self.modules.len();
        self.modules.push(Module { file: file.to_owned(), parent, ..Module::default() });
        for item in items {
            match item {
                Item::Mod(module) if module.attrs.iter().any(of_tests) => {}
                // Kernels of other packages.
                Item::Mod(module) if module.attrs.iter().any(|attribute| attribute.path().is_ident("path")) => {}
                Item::Mod(module) => {
                    let name = module.ident.to_string();
                    let inside = folder.join(&name);
                    let child = if let Some((_, items)) = module.content {
                        self.add(file, Some(number), &inside, items)
                    } else {
                        let alone = folder.join(format!("{name}.rs"));
                        let file = if alone.exists() { alone } else { inside.join("mod.rs") };
                        self.add_file(&file, Some(number), &inside)
                    };
                    self.modules[number].children.insert(name, child);
                }
                Item::Use(item) => {
                    let hands_on = !matches!(item.vis, Visibility::Inherited);
                    self.modules[number].add_use(&item.tree, &mut Vec::new(), hands_on);
                }
                item => self.modules[number].add_item(&item),
            }
        }
        number
    }

    /// The module of this package that defines the item at a path; `None` if it is in another package.
    pub(crate) fn resolve(&self, from: usize, path: &[String]) -> Option<usize> {
        self.resolve_through(from, path, 8)
    }

    /// Like `resolve`, through at most `depth` re-exports.
    fn resolve_through(&self, from: usize, path: &[String], depth: usize) -> Option<usize> {
        let (mut at, mut path) = match path.first()?.as_str() {
            "crate" => (0, &path[1..]),
            "self" => (from, &path[1..]),
            "super" => (self.modules[from].parent?, &path[1..]),
            first if self.modules[from].children.contains_key(first) => (from, path),
            _ => return None,
        };
        while let Some(first) = path.first() {
            at = match self.modules[at].children.get(first) {
                Some(child) => *child,
                None if first == "super" => self.modules[at].parent?,
                None => return self.owner(at, first, depth),
            };
            path = &path[1..];
        }
        Some(at)
    }

    /// The module that defines a name of `module`.
    fn owner(&self, module: usize, name: &str, depth: usize) -> Option<usize> {
        let of = &self.modules[module];
        if of.defined.contains(name) || depth == 0 {
            return Some(module);
        }
        if let Some(path) = of.handed_on.get(name) {
            return self.resolve_through(module, path, depth - 1);
        }
        let all = of.all_handed_on.iter().filter_map(|path| self.resolve_through(module, path, depth - 1));
        all.into_iter().find_map(|from| self.owner(from, name, depth - 1)).or(Some(module))
    }
}

fn of_tests(attribute: &syn::Attribute) -> bool {
    attribute.path().is_ident("cfg") && attribute.meta.to_token_stream().to_string().contains("test")
}

impl Module {
    /// Paths that lead out of the module: those in its code, and those of re-exported names that it uses itself.
    pub(crate) fn imports(&self) -> impl Iterator<Item = &Vec<String>> {
        let used =
            move |name: &String| self.names.contains(name) || self.paths.iter().any(|path| path.first() == Some(name));
        let handed_on = self.handed_on.iter().filter(move |(name, _)| used(name)).map(|(_, path)| path);
        self.paths.iter().chain(handed_on)
    }

    fn add_use(&mut self, tree: &UseTree, path: &mut Vec<String>, hands_on: bool) {
        match tree {
            UseTree::Path(inner) => {
                path.push(inner.ident.to_string());
                self.add_use(&inner.tree, path, hands_on);
                path.pop();
            }
            UseTree::Group(group) => group.items.iter().for_each(|tree| self.add_use(tree, path, hands_on)),
            UseTree::Glob(_) if hands_on => self.all_handed_on.push(path.clone()),
            UseTree::Glob(_) => self.paths.push(path.clone()),
            UseTree::Name(name) => self.add_name(&name.ident.to_string(), &name.ident.to_string(), path, hands_on),
            UseTree::Rename(name) => self.add_name(&name.ident.to_string(), &name.rename.to_string(), path, hands_on),
        }
    }

    fn add_name(&mut self, name: &str, known_as: &str, path: &[String], hands_on: bool) {
        let whole: Vec<String> =
            path.iter().map(String::as_str).chain((name != "self").then_some(name)).map(str::to_owned).collect();
        // A name that is imported but not re-exported is for children of this module.
        self.handed_on.insert(known_as.to_owned(), whole.clone());
        if !hands_on {
            self.paths.push(whole);
        }
    }

    fn add_item(&mut self, item: &Item) {
        let (name, attributes) = match item {
            Item::Const(item) => (Some(&item.ident), &item.attrs),
            Item::Enum(item) => (Some(&item.ident), &item.attrs),
            Item::Fn(item) => (Some(&item.sig.ident), &item.attrs),
            Item::Impl(item) => (None, &item.attrs),
            Item::Macro(item) => (item.ident.as_ref(), &item.attrs),
            Item::Static(item) => (Some(&item.ident), &item.attrs),
            Item::Struct(item) => (Some(&item.ident), &item.attrs),
            Item::Trait(item) => (Some(&item.ident), &item.attrs),
            Item::Type(item) => (Some(&item.ident), &item.attrs),
            Item::Union(item) => (Some(&item.ident), &item.attrs),
            _ => return,
        };
        if attributes.iter().any(of_tests) {
            return;
        }
        self.defined.extend(name.map(ToString::to_string));
        let mut tokens = item.to_token_stream();
        if let Item::Macro(item) = item {
            tokens = item.mac.tokens.clone();
        }
        self.scan(tokens);
    }

    /// Adds the paths in tokens that have more than one part. Attributes and the texts in them are skipped.
    fn scan(&mut self, tokens: TokenStream) {
        let mut path: Vec<String> = Vec::new();
        let mut colons = 0;
        let mut finish = |path: &mut Vec<String>| {
            match &path[..] {
                [] => {}
                [name] => {
                    self.names.insert(name.clone());
                }
                _ => self.paths.push(path.clone()),
            }
            path.clear();
        };
        let mut inner = Vec::new();
        let mut hash = false;
        for token in tokens {
            match token {
                TokenTree::Ident(name) => {
                    if colons != 2 {
                        finish(&mut path);
                    }
                    path.push(name.to_string());
                    colons = 0;
                }
                TokenTree::Punct(point) if point.as_char() == ':' => colons += 1,
                TokenTree::Group(group) => {
                    finish(&mut path);
                    colons = 0;
                    if !hash {
                        inner.push(group.stream());
                    }
                    hash = false;
                    continue;
                }
                TokenTree::Punct(point) => {
                    if let ('!', [name]) = (point.as_char(), &mut path[..]) {
                        name.push('!');
                    }
                    finish(&mut path);
                    colons = 0;
                    hash = point.as_char() == '#';
                    continue;
                }
                TokenTree::Literal(_) => {
                    finish(&mut path);
                    colons = 0;
                }
            }
            hash = false;
        }
        finish(&mut path);
        inner.into_iter().for_each(|tokens| self.scan(tokens));
    }
}
