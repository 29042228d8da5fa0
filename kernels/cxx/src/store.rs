//! A folder of objects, each named by a hash of its inputs.

use crate::room;
use std::fmt;
use std::hash::{BuildHasher as _, DefaultHasher, Hash, Hasher as _, RandomState};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The caller that asks for objects.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Asker {
    /// A build script. The store declares the inputs of objects to cargo, so that cargo runs the script again if they change.
    BuildScript,
    /// A program. The store prints nothing to its output.
    Program,
}

impl Asker {
    /// Tells cargo to run the build script again if `cause` happens; its form is `rerun-if-changed=FILE` or
    /// `rerun-if-env-changed=NAME`. Does nothing for a [`Program`](Self::Program).
    pub fn depends_on(self, cause: impl fmt::Display) {
        if self == Self::BuildScript {
            println!("cargo::{cause}");
        }
    }
}

/// The objects of one compiler with one set of flags. Each object is made once for all packages, profiles and commands that share the
/// folder.
///
/// The folder is `objects` in the asker's own folder (`OUT_DIR` of a build script), or the folder that `HPMOE_OBJECTS` names.
#[derive(Debug)]
pub struct Store {
    /// Hash of all inputs of objects except their own sources.
    identity: DefaultHasher,
    folder: PathBuf,
    asker: Asker,
}

impl Store {
    /// Makes a store in the folder `objects` of `own_folder`, or in the folder that `HPMOE_OBJECTS` names. Its objects depend only on their
    /// sources, until [`depends_on`](Self::depends_on) adds more.
    ///
    /// # Errors
    ///
    /// If the folder can't be made, or `HPMOE_OBJECTS` is not an absolute path.
    pub fn new(own_folder: &Path, asker: Asker) -> Result<Self, String> {
        let folder = folder(own_folder, asker)?;
        std::fs::create_dir_all(&folder).map_err(|error| format!("can't make `{}`: {error}", folder.display()))?;
        Ok(Self { identity: DefaultHasher::new(), folder, asker })
    }

    /// The folder of the objects.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Makes all objects depend on `cause`: for another value of `cause`, other objects are made.
    pub fn depends_on(&mut self, cause: impl Hash) {
        cause.hash(&mut self.identity);
    }

    /// Makes all objects depend on the contents of all `.h` files below a folder, and tells cargo to run the build script again if the
    /// folder changes.
    ///
    /// # Errors
    ///
    /// If a header can't be read.
    pub fn depends_on_headers(&mut self, folder: &Path) -> Result<(), String> {
        self.asker.depends_on(format_args!("rerun-if-changed={}", folder.display()));
        hash_headers(&mut self.identity, folder)
    }

    /// Returns the path of a source file's object; the name of the object ends in `.`, followed by `ending`. If the object does not exist
    /// yet, `make` is called, and must write it to the path that `make` gets. Lines of the source that are only comments don't matter.
    ///
    /// # Errors
    ///
    /// If the source can't be read, if the object can't be renamed to its name, or the error of `make`.
    pub fn object<E: From<String>>(
        &self,
        source: &Path,
        ending: &str,
        make: impl FnOnce(&Path) -> Result<(), E>,
    ) -> Result<PathBuf, E> {
        let text = std::fs::read_to_string(source).map_err(|e| format!("can't read `{}`: {e}", source.display()))?;
        let mut identity = self.identity.clone();
        without_comments(&text).hash(&mut identity);
        let object = self.folder.join(format!("{:016x}.{ending}", identity.finish()));
        if object.exists() {
            return Ok(object);
        }
        // Written under another name first, so that an existing object is complete even if another process is compiling it.
        let draft = object.with_extension(format!("{ending}.{}.draft", unique()));
        make(&draft)?;
        std::fs::rename(&draft, &object).map_err(|error| format!("can't write `{}`: {error}", object.display()))?;
        Ok(object)
    }

    /// After a compiler has failed: the message for a folder (of objects, or for temporary files) that has no room for another 32
    /// MiB, with a way out; `None` if both folders have room.
    #[must_use]
    pub fn lacking_room(&self) -> Option<String> {
        let temporary = std::env::temp_dir();
        let folders = [(self.folder.as_path(), "HPMOE_OBJECTS"), (temporary.as_path(), "TMPDIR")];
        folders.into_iter().find_map(|(folder, variable)| {
            let why = room::lacking(folder, &format!("hpmoe-{}.room", unique()))?;
            let folder = folder.display();
            Some(format!(
                "there is no room for 32 MiB in `{folder}` ({why}); free some, or name another folder by {variable}"
            ))
        })
    }
}

/// A word that no other draft has, in any process. Process ids are not enough, because processes in two containers that share the folder
/// can have equal ids.
fn unique() -> String {
    // The standard library gives each map its own keys, from the system's random bytes.
    let random = RandomState::new().build_hasher().finish();
    format!("{random:016x}")
}

/// Returns the results of `make` for all items, in the same order. As many calls run at a time as there are processors.
pub fn in_parallel<I: Sync, T: Send>(items: &[I], make: impl Fn(&I) -> T + Sync) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let results = Mutex::new(Vec::new());
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(items.len());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(at) else { break };
                    let result = make(item);
                    results.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push((at, result));
                }
            });
        }
    });
    let mut results = results.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    results.sort_by_key(|(at, _)| *at);
    results.into_iter().map(|(_, result)| result).collect()
}

fn folder(own_folder: &Path, asker: Asker) -> Result<PathBuf, String> {
    asker.depends_on("rerun-if-env-changed=HPMOE_OBJECTS");
    let Some(named) = std::env::var_os("HPMOE_OBJECTS").filter(|named| !named.is_empty()) else {
        return Ok(own_folder.join("objects"));
    };
    let folder = PathBuf::from(named);
    match folder.is_absolute() {
        true => Ok(folder),
        false => Err(format!(
            "HPMOE_OBJECTS is `{}`: name the folder of objects by an absolute path, which is the same for all packages",
            folder.display()
        )),
    }
}

/// A source text without lines that are only comments, which don't change the object.
fn without_comments(text: &str) -> String {
    let lines = text.lines().map(str::trim_end).filter(|line| !line.is_empty() && !line.trim_start().starts_with("//"));
    lines.flat_map(|line| [line, "\n"]).collect()
}

fn hash_headers(hash: &mut DefaultHasher, folder: &Path) -> Result<(), String> {
    let problem = |error| format!("can't read `{}`: {error}", folder.display());
    let entries = std::fs::read_dir(folder).map_err(problem)?.map(|entry| entry.map(|entry| entry.path()));
    let mut paths = entries.collect::<Result<Vec<PathBuf>, _>>().map_err(problem)?;
    paths.sort();
    for path in paths {
        if path.is_dir() {
            hash_headers(hash, &path)?;
        } else if path.extension().is_some_and(|end| end == "h") {
            std::fs::read(&path).map_err(|error| format!("can't read `{}`: {error}", path.display()))?.hash(hash);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_do_not_make_another_object() {
        assert_eq!(without_comments("// a\nint x;\n\n  // b\nint z;\n"), without_comments("int x;  \nint z;\n"));
        assert_ne!(without_comments("int x;"), without_comments("int y;"));
        assert_ne!(without_comments("char s[] = \"//a\";"), without_comments("char s[] = \"//b\";"));
    }

    #[test]
    fn results_come_in_the_order_of_items() {
        let items: Vec<u32> = (0..100).collect();
        assert_eq!(in_parallel(&items, |item| item * 2), items.iter().map(|item| item * 2).collect::<Vec<_>>());
        assert!(in_parallel(&[] as &[u32], |item| *item).is_empty());
    }
}
