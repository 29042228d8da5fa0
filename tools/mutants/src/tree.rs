//! A copy of the repository whose sources have all mutants in them.

use crate::find;
use crate::mutant::Mutant;
use crate::part::Part;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, io};

/// Folders that no test of a mutant looks at.
const UNSEEN: [&str; 2] = ["docs/", "tools/mutants/"];

/// The file in the sources of a package that says which mutant is on.
const SWITCH: &str = "mutant_switch.rs";

/// The sources of a working tree, and the place of their copy.
pub(crate) struct Tree {
    root: PathBuf,
    copy: PathBuf,
    pub(crate) part: Part,
    files: Vec<String>,
    /// All mutants of each file that is changed.
    pub(crate) mutants: BTreeMap<String, Vec<Mutant>>,
}

/// The positions of mutants in the copy of a file.
pub(crate) struct Written {
    /// The name of each mutant, and the bytes of its place with all around it, inner ones after outer ones.
    pub(crate) places: Vec<(String, Range<usize>)>,
}

impl Tree {
    /// Reads the files that git tracks, and those that it does not ignore.
    pub(crate) fn read(root: &Path, copy: PathBuf, part: Part) -> Result<Self, String> {
        let list = Command::new("git").args(["ls-files", "-co", "--exclude-standard"]).current_dir(root).output();
        let list = list.map_err(|error| format!("git can't list the files of {}: {error}", root.display()))?;
        let files: Vec<String> = String::from_utf8_lossy(&list.stdout).lines().map(str::to_owned).collect();
        let mut mutants = BTreeMap::new();
        for path in &files {
            if part.changes(path) {
                let source = read(&root.join(path))?;
                let found = find::mutants(path, &source).map_err(|error| format!("{path}: {error}"))?;
                mutants.insert(path.clone(), found);
            }
        }
        if mutants.is_empty() {
            return Err(format!("{} has no code of the {}: run this from the repository", root.display(), part.name()));
        }
        Ok(Self { root: root.to_owned(), copy, part, files, mutants })
    }

    /// A digest of the copied files that tests look at.
    pub(crate) fn digest(&self) -> String {
        let mut hasher = DefaultHasher::new();
        for path in self.files.iter().filter(|path| !UNSEEN.iter().any(|folder| path.starts_with(folder))) {
            (path, fs::read(self.copy.join(path)).ok()).hash(&mut hasher);
        }
        format!("{:016x}", hasher.finish())
    }

    /// The numbers of all mutants by their names.
    pub(crate) fn numbers(&self) -> BTreeMap<String, u32> {
        self.mutants.values().flatten().map(Mutant::to_string).zip(0..).collect()
    }

    /// Writes the copy, with all mutants except those that don't compile; only files that have changed since the last copy
    /// are written.
    pub(crate) fn write(&self, refused: &BTreeSet<String>) -> Result<BTreeMap<String, Written>, String> {
        remove_others(&self.copy, &self.files, &self.switch())
            .map_err(|error| format!("{}: {error}", self.copy.display()))?;
        let numbers = self.numbers();
        let mut written = BTreeMap::new();
        for path in &self.files {
            let from = self.root.join(path);
            let to = self.copy.join(path);
            let problem = |error: io::Error| format!("{}: {error}", to.display());
            // A file that git still lists may be gone.
            if !from.is_file() {
                continue;
            }
            let mut bytes = fs::read(&from).map_err(problem)?;
            if let Some(mutants) = self.mutants.get(path) {
                let mutants = mutants.iter().map(|mutant| (mutant.to_string(), mutant));
                let left: Vec<_> = mutants.filter(|(name, _)| !refused.contains(name)).collect();
                let source = String::from_utf8(bytes).map_err(|error| format!("{path}: {error}"))?;
                let (text, places) = instrument(&source, &left, &numbers);
                written.insert(path.clone(), Written { places });
                bytes = text.into_bytes();
            }
            if *path == format!("{}/src/lib.rs", self.part.folder()) {
                bytes.extend(b"\n#[doc(hidden)]\npub mod mutant_switch;\n");
            }
            put(&to, &bytes).map_err(problem)?;
        }
        let to = self.switch();
        put(&to, include_bytes!("../switch.rs")).map_err(|error| format!("{}: {error}", to.display()))?;
        Ok(written)
    }

    fn switch(&self) -> PathBuf {
        self.copy.join(self.part.folder()).join("src").join(SWITCH)
    }
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// Removes the files of a copy that no longer exist in the original.
fn remove_others(copy: &Path, files: &[String], switch: &Path) -> io::Result<()> {
    let mut kept: BTreeSet<PathBuf> = files.iter().map(|path| copy.join(path)).collect();
    kept.insert(switch.to_owned());
    let mut folders = vec![copy.to_owned()];
    while let Some(folder) = folders.pop().filter(|folder| folder.is_dir()) {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if !kept.contains(&path) {
                fs::remove_file(path)?;
            }
        }
    }
    Ok(())
}

/// Writes a file unless it already has these bytes, so that its time stamp stays.
fn put(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if fs::read(path).is_ok_and(|old| old == bytes) {
        return Ok(());
    }
    fs::create_dir_all(path.parent().unwrap_or(path))?;
    fs::write(path, bytes)
}

/// The source with mutants, outer ones first, and the place of each mutant in it.
pub(crate) fn instrument(
    source: &str,
    mutants: &[(String, &Mutant)],
    numbers: &BTreeMap<String, u32>,
) -> (String, Vec<(String, Range<usize>)>) {
    // At one position, ends come before beginnings, inner ends before outer ends, and outer beginnings before inner ones.
    let mut events = Vec::new();
    for (order, (_, mutant)) in mutants.iter().enumerate() {
        events.push((mutant.range.start, 1, order));
        events.push((mutant.range.end, if mutant.range.is_empty() { 2 } else { 0 }, mutants.len() - order));
    }
    events.sort_unstable();
    let (mut text, mut at) = (String::new(), 0);
    let mut places = vec![0..0; mutants.len()];
    for (position, kind, order) in events {
        text.push_str(&source[at..position]);
        at = position;
        let order = if kind == 1 { order } else { mutants.len() - order };
        let (name, mutant) = &mutants[order];
        let (before, after) = mutant.around(numbers[name]);
        if kind == 1 {
            places[order].start = text.len();
            text.push_str(&before);
        } else {
            text.push_str(after);
            places[order].end = text.len();
        }
    }
    text.push_str(&source[at..]);
    (text, mutants.iter().map(|(name, _)| name.clone()).zip(places).collect())
}
