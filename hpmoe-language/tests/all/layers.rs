//! The order of the modules: data below findings, findings below stages, no stage above a later one.

use std::fs;
use std::path::Path;

/// All modules, each above those that it may import.
const LAYERS: [&str; 16] = [
    "names",
    "units",
    "ids",
    "memory",
    "constant",
    "graph",
    "fingerprint",
    "finding",
    "syntax",
    "lower",
    "plan",
    "analyze",
    "artifacts",
    "front",
    "fixture",
    "expansion",
];

fn layer(module: &str) -> usize {
    LAYERS.iter().position(|name| *name == module).unwrap_or_else(|| panic!("`{module}` is in no layer"))
}

/// Checks the imports of a file, or of all files of a folder; returns how many there are.
fn check(path: &Path, module: &str) -> usize {
    // Tests of a stage begin with the stages before it.
    if path.ends_with("tests") || path.ends_with("tests.rs") {
        return 0;
    }
    if path.is_dir() {
        let files = fs::read_dir(path).expect("a folder of the sources can be listed");
        return files.map(|file| check(&file.expect("a file of the sources can be listed").path(), module)).sum();
    }
    let text = fs::read_to_string(path).expect("a file of the sources can be read");
    let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    let mut imports = 0;
    for rest in code.split("crate::").skip(1) {
        let name = &rest[..rest.find(|c: char| !c.is_ascii_lowercase()).unwrap_or(rest.len())];
        if !name.is_empty() && name != module {
            assert!(layer(name) < layer(module), "`{}` imports `{name}`, which is above `{module}`", path.display());
            imports += 1;
        }
    }
    imports
}

#[test]
fn modules_import_only_what_is_below_them() {
    let mut imports = 0;
    for entry in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("src")).expect("the sources can be listed") {
        let path = entry.expect("the sources can be listed").path();
        let module = path.file_stem().and_then(|name| name.to_str()).expect("a module has a name");
        if module != "lib" {
            imports += check(&path, module);
        }
    }
    assert!(imports > 100, "only {imports} imports were found");
}
