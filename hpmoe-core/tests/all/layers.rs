//! The order of modules: vocabulary below data, data below findings, findings below stages, and no stage above a later
//! one.

use crate::sources::{Package, root};

/// All modules; each may import the ones before it.
const LAYERS: [&str; 32] = [
    "names",
    "units",
    "ids",
    "memory",
    "random",
    "divisor",
    "time",
    "collections",
    "constant",
    "graph",
    "fingerprint",
    "artifacts",
    "finding",
    "syntax",
    "lower",
    "plan",
    "analyze",
    "front",
    "unused",
    "expansion",
    "target",
    "cost",
    "schedule",
    "validate",
    "emit",
    "report",
    "program",
    "compile",
    "tuned",
    "sizes",
    "fixed_sizes",
    "fixture",
];

fn layer(module: &str) -> usize {
    LAYERS.iter().position(|name| *name == module).unwrap_or_else(|| panic!("`{module}` is in no layer"))
}

#[test]
fn modules_import_only_what_is_below_them() {
    let package = Package::read(&root().join("hpmoe-core/src/lib.rs"));
    let mut imports = 0;
    for (number, module) in package.modules.iter().enumerate() {
        let Some(above) = package.top(number) else { continue };
        for path in &module.paths {
            let Some(below) = package.resolve(number, path).and_then(|to| package.top(to)) else { continue };
            if below != above {
                let (file, path) = (module.file.display(), path.join("::"));
                assert!(layer(below) < layer(above), "{file} takes `{path}`, and `{below}` is above `{above}`");
                imports += 1;
            }
        }
    }
    assert!(imports > 500, "only {imports} imports were found");
}
