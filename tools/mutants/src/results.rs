//! The results of mutants, kept from run to run.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// The result of each mutant: the tests that noticed it, or none.
pub(crate) type Found = BTreeMap<String, Option<String>>;

/// Known results of mutants. They are valid for the sources that the tests ran with; for other sources, they say which tests
/// to run first.
pub(crate) struct Results {
    file: Mutex<File>,
    path: PathBuf,
    found: Mutex<Found>,
    before: Found,
}

impl Results {
    /// Reads the known results. None is valid if the sources have changed, or with `fresh`.
    pub(crate) fn read(folder: &Path, digest: &str, fresh: bool) -> Result<Self, String> {
        let [path, before] = ["results.txt", "before.txt"].map(|name| folder.join(name));
        let old = lines(&path);
        let first = format!("# {digest}");
        let holds = !fresh && old.contains(&first);
        let mut known = parsed(&lines(&before));
        known.extend(parsed(&old));
        known.retain(|_, noticed| noticed.is_some());
        write(&before, &known.iter().map(|(name, noticed)| line(name, noticed.as_deref())).collect())?;
        let kept = if holds { old } else { BTreeSet::from([first]) };
        write(&path, &kept)?;
        let file = OpenOptions::new().append(true).open(&path);
        let file = file.map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Self { file: Mutex::new(file), path, found: Mutex::new(parsed(&kept)), before: known })
    }

    /// Tests that noticed a mutant of earlier sources.
    pub(crate) fn before(&self, name: &str) -> Option<&str> {
        self.before.get(name)?.as_deref()
    }

    /// Forgets the mutants that nothing noticed.
    pub(crate) fn forget_survivors(&self) -> Result<(), String> {
        let mut found = self.found.lock().expect("no thread panics while it holds the lock");
        found.retain(|_, noticed| noticed.is_some());
        let kept = lines(&self.path).into_iter().filter(|line| line.starts_with('#') || !line.ends_with('\t'));
        write(&self.path, &kept.collect())
    }

    pub(crate) fn keep(&self, name: &str, noticed: Option<String>) -> Result<(), String> {
        let text = line(name, noticed.as_deref());
        writeln!(self.file.lock().expect("no thread panics while it holds the lock"), "{text}")
            .map_err(|error| format!("{}: {error}", self.path.display()))?;
        self.found.lock().expect("no thread panics while it holds the lock").insert(name.to_owned(), noticed);
        Ok(())
    }

    /// All that is known.
    pub(crate) fn found(&self) -> Found {
        self.found.lock().expect("no thread panics while it holds the lock").clone()
    }
}

fn line(name: &str, noticed: Option<&str>) -> String {
    format!("{}\t{}", name.replace(['\n', '\t'], " "), noticed.unwrap_or_default())
}

fn parsed(lines: &BTreeSet<String>) -> Found {
    let split = |line: &String| {
        let (name, noticed) = line.split_once('\t')?;
        Some((name.to_owned(), (!noticed.is_empty()).then(|| noticed.to_owned())))
    };
    lines.iter().filter_map(split).collect()
}

/// The lines of a file; none if it is not there yet.
pub(crate) fn lines(path: &Path) -> BTreeSet<String> {
    fs::read_to_string(path).unwrap_or_default().lines().map(str::to_owned).collect()
}

/// Writes a file of these lines.
pub(crate) fn write(path: &Path, lines: &BTreeSet<String>) -> Result<(), String> {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_holds_for_the_same_sources_and_is_asked_first_of_others() {
        let folder = tempfile::tempdir().unwrap();
        let read = |digest: &str, fresh: bool| Results::read(folder.path(), digest, fresh).unwrap();
        let first = read("a", false);
        first.keep("f: 1 -> 2", Some("p: t u".to_owned())).unwrap();
        first.keep("g: 1 -> 2", None).unwrap();
        assert_eq!(first.found(), read("a", false).found());
        assert_eq!(first.found()["g: 1 -> 2"], None);
        let same = read("a", false);
        same.forget_survivors().unwrap();
        assert_eq!(same.found().keys().collect::<Vec<_>>(), ["f: 1 -> 2"]);
        assert_eq!(read("a", false).found(), same.found());
        for (digest, fresh) in [("b", false), ("b", true)] {
            let other = read(digest, fresh);
            assert!(other.found().is_empty());
            assert_eq!((other.before("f: 1 -> 2"), other.before("g: 1 -> 2")), (Some("p: t u"), None));
        }
    }
}
