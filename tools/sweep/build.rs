//! Tells the program the state of the tree that it simulates: a hash of all sources that figures depend on.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};

/// Files and folders that figures depend on, relative to the root of the tree.
const SOURCES: [&str; 8] = [
    "kernels/src",
    "hpmoe-core/src",
    "hpmoe-core/targets",
    "tools/simulator/src",
    "examples/moe_ffn.rs",
    "examples/moe_backward.rs",
    "tools/sweep/src/cases.rs",
    "tools/sweep/src/measure.rs",
];

fn main() {
    let mut state = DefaultHasher::new();
    for source in SOURCES {
        let path = Path::new("../..").join(source);
        println!("cargo::rerun-if-changed={}", path.display());
        add(&path, &mut state);
    }
    println!("cargo::rustc-env=HPMOE_SWEEP_STATE={:016x}", state.finish());
}

/// Hashes the names and contents of all files under a path, in the order of their names.
fn add(path: &Path, state: &mut DefaultHasher) {
    let Ok(folder) = path.read_dir() else {
        path.to_string_lossy().hash(state);
        std::fs::read(path).unwrap_or_default().hash(state);
        return;
    };
    let mut inside: Vec<PathBuf> = folder.filter_map(|entry| Some(entry.ok()?.path())).collect();
    inside.sort();
    inside.iter().for_each(|path| add(path, state));
}
