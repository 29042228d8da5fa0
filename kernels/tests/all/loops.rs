//! Checks that no C++ files include each other in a cycle, and that no files' functions call each other in a cycle.

use super::model::{folder, objects_of_model};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Folders of C++, each with its include folders.
const FOLDERS: [(&str, &[&str]); 8] = [
    ("include", &["host", "include"]),
    ("host", &["host"]),
    ("tests", &["host", "include"]),
    ("../hpmoe-runtime/acl", &[]),
    ("../tools/standin/acl", &["../hpmoe-runtime/acl", "host"]),
    ("../tools/standin/shmem", &["../tools/standin/acl", "../hpmoe-runtime/acl", "host"]),
    ("../tools/standin/ascendcl", &["../tools/standin/acl", "../hpmoe-runtime/acl", "host"]),
    ("../tools/doctor/probes", &["host", "include"]),
];

/// The files that each file needs.
type Needs = BTreeMap<PathBuf, BTreeSet<PathBuf>>;

/// The files in cycles, and those on a path from one cycle to another.
fn in_loops(mut needs: Needs) -> Needs {
    loop {
        let needed: BTreeSet<PathBuf> = needs.values().flatten().cloned().collect();
        let count = needs.len();
        needs.retain(|file, needs| needed.contains(file) && !needs.is_empty());
        let left: BTreeSet<PathBuf> = needs.keys().cloned().collect();
        needs.values_mut().for_each(|needs| needs.retain(|file| left.contains(file)));
        if needs.len() == count {
            return needs;
        }
    }
}

/// The C++ files in a folder and its subfolders.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
        let path = entry.expect("a file").path();
        if path.is_dir() {
            found.extend(files(&path));
        } else if ["h", "cpp"].iter().any(|&kind| path.extension() == Some(OsStr::new(kind))) {
            found.push(path);
        }
    }
    found
}

/// The names that a C++ file includes in quotes.
fn included(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| {
        let directive = line.trim_start().strip_prefix('#')?.trim_start().strip_prefix("include")?;
        directive.trim_start().strip_prefix('"')?.split_once('"').map(|(name, _)| name)
    })
}

#[test]
fn no_headers_include_each_other() {
    let mut needs = Needs::new();
    for (name, others) in FOLDERS {
        for file in files(&folder(name)) {
            let text = fs::read_to_string(&file).expect("a source file");
            let own = file.parent().expect("a folder").to_owned();
            let find = |name: &str| {
                let folders = std::iter::once(own.clone()).chain(others.iter().map(|other| folder(other)));
                let found = folders.map(|folder| folder.join(name)).find(|path| path.exists());
                found.unwrap_or_else(|| panic!("{} includes `{name}`, which is in none of its folders", file.display()))
            };
            let found = included(&text).map(|name| find(name).canonicalize().expect("a file")).collect();
            needs.insert(file.canonicalize().expect("a file"), found);
        }
    }
    let core = folder("host/core.h").canonicalize().expect("a file");
    assert!(needs[&core].iter().any(|file| file.ends_with("host/call.h")), "{:?}", needs[&core]);
    let loops = in_loops(needs);
    assert!(loops.is_empty(), "headers include each other: {loops:#?}");
}

/// The exported and the undefined symbols of an object.
fn symbols(object: &Path) -> (BTreeSet<String>, BTreeSet<String>) {
    let output = Command::new("nm").arg("-P").arg("-g").arg(object).output().expect("nm, of the linker's package");
    assert!(output.status.success(), "{}: {}", object.display(), String::from_utf8_lossy(&output.stderr));
    let (mut defined, mut taken) = (BTreeSet::new(), BTreeSet::new());
    for line in String::from_utf8(output.stdout).expect("UTF-8").lines() {
        let mut words = line.split_whitespace();
        let (Some(name), Some(kind)) = (words.next(), words.next()) else { continue };
        match kind {
            "U" => drop(taken.insert(name.to_owned())),
            // Each file has a copy of inline functions.
            "V" | "W" | "v" | "w" | "u" => {}
            _ => drop(defined.insert(name.to_owned())),
        }
    }
    (defined, taken)
}

#[test]
fn no_files_of_the_model_call_each_other() {
    let symbols: BTreeMap<&PathBuf, _> =
        objects_of_model().iter().map(|(source, object)| (source, symbols(object))).collect();
    let owners: BTreeMap<&String, &PathBuf> =
        symbols.iter().flat_map(|(source, (defined, _))| defined.iter().map(|name| (name, *source))).collect();
    let owners_of = |source: &PathBuf, taken: &BTreeSet<String>| {
        let owners = taken.iter().filter_map(|name| owners.get(name).copied());
        owners.filter(|owner| *owner != source).cloned().collect()
    };
    let needs: Needs =
        symbols.iter().map(|(source, (_, taken))| ((*source).clone(), owners_of(source, taken))).collect();
    let engine = &needs[&folder("host/engine.cpp")];
    assert!(engine.contains(&folder("host/run_flags.cpp")), "{engine:?}");
    let loops = in_loops(needs);
    assert!(loops.is_empty(), "files call each other: {loops:#?}");
}

#[test]
fn loops_are_found() {
    let needs = |pairs: &[(&str, &str)]| {
        let mut needs = Needs::new();
        for (file, needed) in pairs {
            needs.entry(file.into()).or_default().insert(needed.into());
            needs.entry(needed.into()).or_default();
        }
        needs
    };
    assert_eq!(in_loops(needs(&[("a", "b"), ("b", "c"), ("a", "c")])), Needs::new());
    let found = in_loops(needs(&[("a", "b"), ("b", "c"), ("c", "b"), ("c", "d")]));
    assert_eq!(found.keys().collect::<Vec<_>>(), [Path::new("b"), Path::new("c")]);
    assert_eq!(
        included("#include \"a.h\"\n  #  include \"b.h\" // c\n#include <d.h>\n").collect::<Vec<_>>(),
        ["a.h", "b.h"]
    );
}
