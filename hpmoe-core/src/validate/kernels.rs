//! Every taskflow of the examples and of the small kernels, for tests.

use crate::analyze::CheckedGraph;
use crate::finding::Diagnostic;
use crate::fixture::SMALL_TILES;
use crate::front::{front, modules};
use crate::syntax::{Overrides, open_constants};
use std::path::{Path, PathBuf};

/// Constants of groups with few experts.
pub(super) const SMALL_GROUPS: [(&str, usize); 2] = [("EXPERTS", 4), ("TOP_K", 2)];

/// Name (`kernel::taskflow`) and graph of each taskflow, with the constants of its source and small tiles, in the order
/// of files and declarations.
pub(super) fn kernels() -> Vec<(String, CheckedGraph)> {
    kernels_with(&[("CHUNKS_AT_MOST", 0)])
}

/// Like `kernels`, with these values of constants. If a kernel can't have them, it has those of its source.
pub(super) fn kernels_with(values: &[(&str, usize)]) -> Vec<(String, CheckedGraph)> {
    let mut kernels = Vec::new();
    for file in files("../examples").into_iter().chain(files("../ui-tests/kernels")) {
        let source = std::fs::read_to_string(&file).expect("a source can be read");
        for module in modules(&source).expect("a source is Rust") {
            let words = |faults: Vec<Diagnostic>| faults.iter().map(Diagnostic::text).collect::<Vec<_>>().join("\n");
            let open = open_constants(&module);
            let small: Vec<_> =
                SMALL_TILES.into_iter().filter(|(name, _)| open.iter().any(|open| open == name)).collect();
            let overrides = |values: &[(&str, usize)]| -> Overrides {
                small.iter().chain(values).map(|&(name, value)| (name.to_owned(), value.into())).collect()
            };
            let by_source = || front(&module, &overrides(&[])).map_err(words).expect("a kernel has no fault");
            let front = front(&module, &overrides(values)).unwrap_or_else(|_| by_source());
            kernels.extend(front.flows.into_iter().map(|flow| (name(&flow), flow)));
        }
    }
    assert!(kernels.len() > 20, "there are kernels: {}", kernels.len());
    kernels
}

fn name(checked: &CheckedGraph) -> String {
    format!("{}::{}", checked.graph().kernel, checked.graph().taskflow)
}

fn files(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let entries =
        std::fs::read_dir(folder).expect("the folder exists").map(|entry| entry.expect("the folder can be read"));
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "rs"))
        .collect();
    files.sort();
    files
}
