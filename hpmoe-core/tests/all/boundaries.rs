//! Dependencies that packages must not have: users' builds don't compile the simulator, the tuner or reports; the macro does not contain
//! the compiler; the compiler does no I/O.

use crate::sources::{Package, root};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

/// The lines `key = value` of a section of a manifest.
fn section(manifest: &str, name: &str) -> Vec<(String, String)> {
    let start = format!("[{name}]");
    let lines = manifest.lines().skip_while(|line| *line != start).skip(1).take_while(|line| !line.starts_with('['));
    let pairs = lines.filter(|line| !line.starts_with('#')).filter_map(|line| line.split_once('='));
    pairs.map(|(key, value)| (key.trim().trim_end_matches(".workspace").to_owned(), value.to_owned())).collect()
}

/// The workspace's packages that each package needs for a build, by name.
fn dependencies() -> BTreeMap<String, Vec<String>> {
    let read = |folder: &str| {
        let path = root().join(folder).join("Cargo.toml");
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    let shared = section(&read(""), "workspace.dependencies");
    let own =
        shared.iter().filter_map(|(name, value)| Some((name, value.split_once("path = \"")?.1.split_once('"')?.0)));
    let own: BTreeMap<&String, &str> = own.collect();
    assert!(own.len() > 10, "{own:?}");
    let needed = |manifest: String| {
        let sections = ["dependencies", "build-dependencies"].map(|name| section(&manifest, name)).concat();
        sections.into_iter().map(|(name, _)| name).filter(|name| own.contains_key(name)).collect()
    };
    own.iter().map(|(name, folder)| ((*name).clone(), needed(read(folder)))).collect()
}

/// A package and all packages that it needs.
fn closure(package: &str) -> BTreeSet<String> {
    let dependencies = dependencies();
    let (mut all, mut open) = (BTreeSet::new(), vec![package.to_owned()]);
    while let Some(name) = open.pop() {
        open.extend(dependencies.get(&name).unwrap_or_else(|| panic!("no package {name}")).iter().cloned());
        all.insert(name);
    }
    all
}

#[test]
fn users_compile_no_simulator_no_tuner_and_no_reports() {
    let users: BTreeSet<String> = ["hpmoe-runtime", "hpmoe-build", "hpmoe-c"].into_iter().flat_map(closure).collect();
    let expected = [
        "hpmoe-build",
        "hpmoe-c",
        "hpmoe-core",
        "hpmoe-cxx",
        "hpmoe-expansion",
        "hpmoe-kernels",
        "hpmoe-macros",
        "hpmoe-runtime",
    ];
    assert!(users.iter().eq(expected.iter()), "{users:?}");
}

#[test]
fn the_macro_has_no_compiler_in_it() {
    assert!(closure("hpmoe-macros").iter().eq(["hpmoe-expansion", "hpmoe-macros"].iter()));
}

#[test]
fn the_runtime_does_not_depend_on_the_compiler() {
    assert!(!closure("hpmoe-runtime").contains("hpmoe-core"));
}

#[test]
fn the_compiler_does_no_io() {
    let package = Package::read(&root().join("hpmoe-core/src/lib.rs"));
    for module in &package.modules {
        for path in &module.paths {
            let start: Vec<&str> = path.iter().take(2).map(String::as_str).collect();
            let does_io =
                matches!(start[..], ["std", "env" | "fs" | "io" | "net" | "os" | "process" | "thread" | "time"]);
            assert!(!does_io, "{} uses {}", module.file.display(), path.join("::"));
        }
        for name in ["dbg!", "eprint!", "eprintln!", "print!", "println!"] {
            assert!(!module.names.contains(name), "{} uses {name}", module.file.display());
        }
    }
    assert!(package.modules.len() > 150, "only {} modules were read", package.modules.len());
}
