//! Checks the versions that texts state against the packages, and that published packages are complete.

use crate::pages::root;
use std::fs;
use std::path::PathBuf;

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The value of the first line `key = "value"` or `key = value` of a manifest.
fn value(manifest: &str, key: &str) -> String {
    let text = read(manifest);
    let line = text.lines().find_map(|line| line.strip_prefix(key)?.trim_start().strip_prefix('='));
    line.unwrap_or_else(|| panic!("{manifest} has no `{key}`")).trim().trim_matches('"').to_owned()
}

/// The text after `#define NAME ` of a header.
fn defined(header: &str, name: &str) -> String {
    let text = read(header);
    let line = text.lines().find_map(|line| line.strip_prefix(&format!("#define {name} ")));
    line.unwrap_or_else(|| panic!("{header} does not define {name}")).to_owned()
}

/// Folders of the packages that are published.
fn published() -> Vec<PathBuf> {
    let manifest = read("Cargo.toml");
    let (_, members) = manifest.split_once("members = [").expect("members of the workspace");
    let (members, _) = members.split_once(']').expect("the end of the members");
    let folders = members.split('"').skip(1).step_by(2).filter(|folder| !folder.contains('*'));
    let is_published = |folder: &PathBuf| {
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).expect("a member's manifest");
        !manifest.contains("publish = false")
    };
    folders.map(|folder| root().join(folder)).filter(is_published).collect()
}

#[test]
fn all_packages_have_one_version() {
    let version = value("Cargo.toml", "version");
    assert_eq!(value("python/pyproject.toml", "version"), version);
    let manifest = read("Cargo.toml");
    let on_each_other = manifest.lines().filter(|line| line.starts_with("hpmoe-") && line.contains("version"));
    for line in on_each_other {
        assert!(line.contains(&format!("version = \"={version}\"")), "{line}: ask for \"={version}\"");
    }
    let changes = read("CHANGELOG.md");
    let mut sections = changes.lines().filter_map(|line| line.strip_prefix("## "));
    assert_eq!((sections.next(), sections.next()), (Some("Unreleased"), Some(version.as_str())));
}

#[test]
fn published_packages_have_their_licenses() {
    let packages = published();
    assert!(packages.len() >= 11, "{packages:?}");
    for folder in packages.into_iter().chain([root().join("python")]) {
        for license in ["LICENSE-MIT", "LICENSE-APACHE"] {
            let own = fs::read_to_string(folder.join(license)).unwrap_or_default();
            assert!(own == read(license), "{} needs {license}: link to it", folder.display());
        }
    }
}

#[test]
fn texts_state_the_lowest_rust_version() {
    let (packages, sizes) = (value("Cargo.toml", "rust-version"), value("python/stock/Cargo.toml", "rust-version"));
    let examples = value("examples/packages/moe_ffn/Cargo.toml", "rust-version");
    for (file, version) in [
        ("docs/versions.md", &packages),
        ("docs/versions.md", &sizes),
        ("docs/guide/first-kernel.md", &packages),
        ("CONTRIBUTING.md", &packages),
        ("README.md", &examples),
        ("python/README.md", &sizes),
        ("python/src/hpmoe/_build.py", &sizes),
    ] {
        assert!(read(file).contains(&format!("Rust {version}")), "{file} does not state Rust {version}");
    }
}

#[test]
fn texts_state_the_compilers_of_the_policy() {
    let policy = read("docs/versions.md");
    let (_, compilers) = policy.split_once("a C++17 compiler, ").expect("the policy names compilers");
    let (compilers, _) = compilers.split_once(" or later").expect("the oldest versions of compilers");
    assert!(read("README.md").contains(compilers), "README.md does not state {compilers}");
    let (gcc, _) = compilers.split_once(" or ").expect("two compilers");
    assert!(read("docs/guide/first-kernel.md").contains(gcc), "docs/guide/first-kernel.md does not state {gcc}");
}

#[test]
fn the_policy_states_the_numbers_of_interfaces() {
    let policy = read("docs/versions.md");
    let abi = defined("kernels/include/hpmoe/abi.h", "HPMOE_ABI");
    assert!(policy.contains(&format!("(`HPMOE_ABI`, {abi} at present)")), "HPMOE_ABI is {abi}");
    let abi = defined("hpmoe-runtime/c/include/hpmoe.h", "HPMOE_C_ABI");
    assert!(policy.contains(&format!("`HPMOE_C_ABI` in `hpmoe.h` is {abi} at present")), "HPMOE_C_ABI is {abi}");
    let export = read("docs/export.md");
    let (_, version) = export.split_once("\"format\": \"hpmoe-schedule\", \"version\": ").expect("docs/export.md");
    let version: String = version.chars().take_while(char::is_ascii_digit).collect();
    assert!(policy.contains(&format!("have a `version`,\n{version} at present")), "exports have version {version}");
}
