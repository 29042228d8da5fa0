//! Files of external operators: their contents, and the message if a compiler refuses one.

use crate::watch;
use hpmoe_core::analyze::CheckedGraph;
use hpmoe_core::artifacts::Fault;
use hpmoe_core::emit::signature;
use hpmoe_core::fingerprint::Fingerprint;
use hpmoe_core::graph::{Task, TaskGraph};
use hpmoe_core::names::ByName;
use std::path::{Path, PathBuf};

/// The external operator of a task, with all data for messages about it.
#[derive(Clone, Debug)]
pub(crate) struct Operator {
    /// The name of the task.
    pub(crate) task: String,
    /// The function in C++.
    pub(crate) function: String,
    /// Its file, as the source names it.
    pub(crate) file: String,
    /// The file and all files that it includes.
    pub(crate) files: Files,
    /// Paths in the package that these files include but that do not exist.
    pub(crate) missing: Vec<PathBuf>,
    /// How the function must be declared.
    pub(crate) signature: String,
}

/// For each operator file that a kernel's tasks name: its text and the files that it includes, or the reason why it can't be read.
pub(crate) struct OperatorFiles(ByName<Result<Included, Unread>>);

/// Texts of files, sorted by their paths, which are relative to the folder of Cargo.toml.
pub(crate) type Files = Vec<(PathBuf, String)>;

impl OperatorFiles {
    /// Reads the files. Cargo will run the build script again when one arrives, changes or goes.
    pub(crate) fn read(flows: &[CheckedGraph], root: &Path) -> Self {
        let tasks = flows.iter().flat_map(|flow| flow.graph().tasks.iter());
        let named = tasks.filter_map(|(_, task)| task.external.as_ref()).map(|external| &external.file);
        let mut all = ByName::new();
        for file in named {
            if !all.contains(file) {
                all.insert(file.clone(), with_included(file, root));
            }
        }
        Self(all)
    }

    /// A fingerprint of each file's content, including the files that it includes.
    pub(crate) fn fingerprints(&self) -> ByName<String> {
        let of_content = |included: &Included| {
            let all = included.files.iter().fold(Fingerprint::default(), |hash, (path, text)| {
                hash.text(&path.to_string_lossy().replace('\\', "/")).text(text)
            });
            all.hex()
        };
        let missing = |_: &Unread| Fingerprint::default().hex();
        self.0.iter().map(|(file, read)| (file.to_owned(), read.as_ref().map_or_else(missing, of_content))).collect()
    }

    /// The operators of a taskflow, or the first fault of an operator whose file can't be read.
    pub(crate) fn of_flow(&self, graph: &TaskGraph) -> Result<Vec<Operator>, Fault> {
        graph.tasks.iter().filter_map(|(_, task)| self.operator(task)).collect()
    }

    fn operator(&self, task: &Task) -> Option<Result<Operator, Fault>> {
        let external = task.external.as_ref()?;
        Some(match self.0.get(&external.file).expect("all files that tasks name are read") {
            Ok(Included { files, missing }) => Ok(Operator {
                task: task.name.clone(),
                function: external.function.clone(),
                file: external.file.clone(),
                files: files.clone(),
                missing: missing.clone(),
                signature: signature(task),
            }),
            Err(unread) => Err(Fault { task: Some(task.name.clone()), text: unread.text(&task.name, &external.file) }),
        })
    }
}

/// A file of an operator that can't be read.
#[derive(Debug)]
struct Unread {
    /// The file, if an operator includes it; `None` for the operator's own file.
    included: Option<PathBuf>,
    error: std::io::Error,
}

impl Unread {
    /// The message about the operator of `task` in `file`.
    fn text(&self, task: &str, file: &str) -> String {
        let error = &self.error;
        match &self.included {
            None => format!(
                "can't read `{file}`, the file of the external operator of `{task}`: {error} [HP20]\n\
                 help: give its path relative to the folder of Cargo.toml; `hpmoe emit FILE.rs --task {task}` prints a skeleton of it"
            ),
            Some(included) => format!(
                "`{file}`, the file of the external operator of `{task}`, includes `{0}`, which can't be read: {error} [HP20]\n\
                 help: make `{0}` readable, as UTF-8 text: hpmoe reads every file of the package that an operator includes",
                included.display()
            ),
        }
    }
}

/// The files of an operator that lie in the package.
#[derive(Debug, Default)]
struct Included {
    files: Files,
    /// Paths in the package that the compiler tries for an included file and that don't exist. The file may be a header of hpmoe or of the
    /// system, or missing by mistake.
    missing: Vec<PathBuf>,
}

/// Reads a file and the files that it includes, if they lie next to the including file or in the package. Cargo will run the build script
/// again if one of these is added, changed or removed.
fn with_included(file: &str, root: &Path) -> Result<Included, Unread> {
    let mut included = Included::default();
    let mut waiting = vec![PathBuf::from(file)];
    while let Some(path) = waiting.pop() {
        let Err(place) = included.files.binary_search_by(|(known, _)| known.cmp(&path)) else { continue };
        let text = std::fs::read_to_string(root.join(&path)).map_err(|error| {
            let own = path == Path::new(file);
            if own {
                watch::missing(&path);
            }
            Unread { included: (!own).then(|| path.clone()), error }
        })?;
        watch::input(&path);
        let folder = path.parent().unwrap_or(Path::new(""));
        for named in text.lines().filter_map(named) {
            for place in named.places(folder) {
                if root.join(&place).is_file() {
                    waiting.push(place);
                    break;
                }
                // A header of hpmoe or of the system can arrive only in a folder that the package has.
                if place.iter().next().is_some_and(|first| root.join(first).is_dir()) {
                    watch::input(&place);
                }
                included.missing.push(place);
            }
        }
        included.files.insert(place, (path, text));
    }
    Ok(included)
}

/// The file that an `#include` line names.
#[derive(PartialEq, Eq, Debug)]
struct Named<'a> {
    path: &'a str,
    /// Whether the compiler first searches next to the including file: the name is in quotes.
    nearby: bool,
}

impl Named<'_> {
    /// Paths at which a compiler looks for the file, in this order, relative to the package's folder, which is an
    /// include folder of the compiler.
    fn places(&self, folder: &Path) -> Vec<PathBuf> {
        let near = self.nearby.then(|| folder.join(self.path));
        let mut places: Vec<PathBuf> = near.into_iter().chain([PathBuf::from(self.path)]).collect();
        places.dedup();
        places
    }
}

/// The file that an `#include` line names, in quotes or in angle brackets; `None` for other lines.
fn named(line: &str) -> Option<Named<'_>> {
    let directive = line.trim_start().strip_prefix('#')?.trim_start().strip_prefix("include")?.trim_start();
    let (nearby, end) = match directive.chars().next()? {
        '"' => (true, '"'),
        '<' => (false, '>'),
        _ => return None,
    };
    directive[1..].split_once(end).map(|(path, _)| Named { path, nearby })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_and_angle_brackets_include_a_file() {
        let read = |line| named(line).map(|named| (named.path, named.nearby));
        assert_eq!(read("#include \"a.h\" // b"), Some(("a.h", true)));
        assert_eq!(read("  #  include\t\"b/a.h\""), Some(("b/a.h", true)));
        assert_eq!(read("#include <b/a.h>"), Some(("b/a.h", false)));
        assert_eq!([read("// include \"a.h\""), read("#define A \"a.h\""), read("#include A")], [None; 3]);
    }

    #[test]
    fn what_a_file_includes_counts_once_and_what_lies_elsewhere_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        std::fs::create_dir(folder.path().join("ops")).unwrap();
        write("ops/a.h", "#include \"b.h\"\n#include <ops/c.h>\n#include \"hpmoe/kernel.h\"\n#include <cstdint>\n");
        write("ops/b.h", "#include \"c.h\"\n#include \"a.h\"\n#include <d.h>\n");
        write("ops/c.h", "int c;\n");
        // Angle brackets don't name a file next to the one that includes it.
        write("ops/d.h", "int d;\n");
        let Included { files, missing } = with_included("ops/a.h", folder.path()).unwrap();
        let names: Vec<_> = files.iter().map(|(path, _)| path.to_str().unwrap()).collect();
        assert_eq!(names, ["ops/a.h", "ops/b.h", "ops/c.h"]);
        let missing: Vec<_> = missing.iter().map(|path| path.to_str().unwrap()).collect();
        assert_eq!(missing, ["ops/hpmoe/kernel.h", "hpmoe/kernel.h", "cstdint", "d.h"]);
        let text = with_included("ops/e.h", folder.path()).unwrap_err().text("sum", "ops/e.h");
        assert!(text.starts_with("can't read `ops/e.h`") && text.contains("No such file"), "{text}");
    }
}
