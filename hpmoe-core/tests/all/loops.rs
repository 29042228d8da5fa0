//! Checks that files don't import each other in a loop, except for the loops listed here with their reasons.
//!
//! An import is a path in code, outside of tests, to an item that another file of the package defines. An item that a
//! module re-exports belongs to the file that defines it.

use crate::sources::{Package, packages, root};
use petgraph::algo::tarjan_scc;
use petgraph::graph::DiGraph;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The allowed loops: their files, and the reason.
const EXPLAINED: [(&[&str], &str); 0] = [];

#[test]
fn no_files_import_each_other() {
    let root = root();
    let packages = packages(&root);
    assert!(packages.len() > 15, "{packages:?}");
    let mut found = Vec::new();
    for source in packages {
        let package = Package::read(&source);
        let loops = loops(&package);
        found.extend(loops.into_iter().map(|files| {
            files
                .into_iter()
                .map(|(file, names)| (file.strip_prefix(&root).expect("a file of the repository").to_owned(), names))
                .collect::<Vec<_>>()
        }));
    }
    let explained = |files: &[(PathBuf, Vec<String>)]| {
        EXPLAINED
            .iter()
            .any(|(listed, _)| files.iter().map(|(file, _)| file.as_path()).eq(listed.iter().map(Path::new)))
    };
    let texts: Vec<String> = found
        .iter()
        .filter(|files| !explained(files))
        .map(|files| {
            let lines: Vec<String> =
                files.iter().map(|(file, names)| format!("  {} takes {}", file.display(), names.join(", "))).collect();
            lines.join("\n")
        })
        .collect();
    assert!(texts.is_empty(), "{} loops of imports:\n{}", texts.len(), texts.join("\n\n"));
    assert_eq!(found.len(), EXPLAINED.len(), "a loop that is listed is gone: take it from the list");
}

/// Files that import each other, each with the names that it imports from others of its loop.
fn loops(package: &Package) -> Vec<Vec<(PathBuf, Vec<String>)>> {
    let files: Vec<&PathBuf> =
        package.modules.iter().map(|module| &module.file).collect::<BTreeSet<_>>().into_iter().collect();
    let number = |module: usize| files.binary_search(&&package.modules[module].file).expect("a file of the package");
    let mut graph = DiGraph::<(), ()>::new();
    let nodes: Vec<_> = files.iter().map(|_| graph.add_node(())).collect();
    let mut names: BTreeMap<(usize, usize), BTreeSet<String>> = BTreeMap::new();
    for (module, content) in package.modules.iter().enumerate() {
        for path in content.imports() {
            let Some(to) = package.resolve(module, path) else { continue };
            let (from, to) = (number(module), number(to));
            if from != to {
                graph.add_edge(nodes[from], nodes[to], ());
                names.entry((from, to)).or_default().insert(path.join("::"));
            }
        }
    }
    let loops = tarjan_scc(&graph).into_iter().filter(|files| files.len() > 1);
    let loops = loops.map(|files| files.into_iter().map(|node| node.index()).collect::<Vec<_>>());
    let mut loops: Vec<Vec<(PathBuf, Vec<String>)>> = loops
        .map(|mut members| {
            members.sort_unstable();
            let taken = |from: usize| {
                let pairs = members.iter().filter_map(|&to| names.get(&(from, to)));
                pairs.flatten().cloned().collect::<Vec<_>>()
            };
            members.iter().map(|&from| (files[from].clone(), taken(from))).collect()
        })
        .collect();
    loops.sort();
    loops
}
