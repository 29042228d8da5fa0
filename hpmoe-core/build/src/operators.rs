//! Files of external operators: what they hold, and what is said where a compiler refuses one.

use hpmoe_core::analyze::CheckedGraph;
use hpmoe_core::artifacts::Fault;
use hpmoe_core::emit::signature;
use hpmoe_core::fingerprint::Fingerprint;
use hpmoe_core::graph::{Task, TaskGraph};
use hpmoe_core::names::ByName;
use std::path::{Path, PathBuf};

/// The external operator of a task, with what a message about it needs.
#[derive(Clone, Debug)]
pub(crate) struct Operator {
    /// The name of the task.
    pub(crate) task: String,
    /// The function in C++.
    pub(crate) function: String,
    /// Its file, as the source names it.
    pub(crate) file: String,
    /// That file and those that it includes.
    pub(crate) files: Files,
    /// How the function must be declared.
    pub(crate) signature: String,
}

/// The files that a kernel's tasks name, each with all that it includes, or why it can't be read.
pub(crate) struct OperatorFiles(ByName<Result<Files, String>>);

/// Paths from the folder of Cargo.toml on, with their texts, in the order of the paths.
pub(crate) type Files = Vec<(PathBuf, String)>;

impl OperatorFiles {
    /// Reads the files, and tells cargo to run the build script again when one changes.
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

    /// A fingerprint of the content of each file and of what it includes.
    pub(crate) fn fingerprints(&self) -> ByName<String> {
        let of_content = |files: &Files| {
            let all = files.iter().fold(Fingerprint::default(), |hash, (path, text)| {
                hash.text(&path.to_string_lossy().replace('\\', "/")).text(text)
            });
            all.hex()
        };
        let missing = |_: &String| Fingerprint::default().hex();
        self.0.iter().map(|(file, read)| (file.to_owned(), read.as_ref().map_or_else(missing, of_content))).collect()
    }

    /// The operators of a taskflow, or the fault of one whose file can't be read.
    pub(crate) fn of_flow(&self, graph: &TaskGraph) -> Result<Vec<Operator>, Fault> {
        graph.tasks.iter().filter_map(|(_, task)| self.operator(task)).collect()
    }

    fn operator(&self, task: &Task) -> Option<Result<Operator, Fault>> {
        let external = task.external.as_ref()?;
        Some(match self.0.get(&external.file).expect("all files that tasks name are read") {
            Ok(files) => Ok(Operator {
                task: task.name.clone(),
                function: external.function.clone(),
                file: external.file.clone(),
                files: files.clone(),
                signature: signature(task),
            }),
            Err(problem) => Err(Fault {
                task: Some(task.name.clone()),
                text: format!(
                    "can't read `{}`, the file of the external operator of `{}`: {problem} [HP20]\n\
                     help: name it from the folder of Cargo.toml on; `hpmoe emit FILE.rs --task {}` prints what it can begin with",
                    external.file, task.name, task.name
                ),
            }),
        })
    }
}

/// A file and those that it includes in quotes, as far as they lie next to the file that names them or in the package.
fn with_included(file: &str, root: &Path) -> Result<Files, String> {
    let mut files = Files::new();
    let mut waiting = vec![PathBuf::from(file)];
    while let Some(path) = waiting.pop() {
        let Err(place) = files.binary_search_by(|(known, _)| known.cmp(&path)) else { continue };
        println!("cargo::rerun-if-changed={}", path.display());
        let text = std::fs::read_to_string(root.join(&path)).map_err(|error| match path == Path::new(file) {
            true => error.to_string(),
            false => format!("it includes `{}`, of which this is said: {error}", path.display()),
        })?;
        let folder = path.parent().unwrap_or(Path::new(""));
        for named in text.lines().filter_map(included) {
            let places = [folder.join(named), PathBuf::from(named)];
            waiting.extend(places.into_iter().find(|place| root.join(place).is_file()));
        }
        files.insert(place, (path, text));
    }
    Ok(files)
}

/// The file that a line includes in quotes.
fn included(line: &str) -> Option<&str> {
    let directive = line.trim_start().strip_prefix('#')?.trim_start().strip_prefix("include")?;
    directive.trim_start().strip_prefix('"')?.split_once('"').map(|(path, _)| path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_and_nothing_else_include_a_file_of_the_package() {
        assert_eq!(included("#include \"a.h\" // b"), Some("a.h"));
        assert_eq!(included("  #  include\t\"b/a.h\""), Some("b/a.h"));
        assert_eq!(
            [included("#include <a.h>"), included("// include \"a.h\""), included("#define A \"a.h\"")],
            [None; 3]
        );
    }

    #[test]
    fn what_a_file_includes_counts_once_and_what_lies_elsewhere_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        std::fs::create_dir(folder.path().join("ops")).unwrap();
        write("ops/a.h", "#include \"b.h\"\n#include \"ops/c.h\"\n#include \"hpmoe/kernel.h\"\n");
        write("ops/b.h", "#include \"c.h\"\n#include \"a.h\"\n");
        write("ops/c.h", "int c;\n");
        let files = with_included("ops/a.h", folder.path()).unwrap();
        let names: Vec<_> = files.iter().map(|(path, _)| path.to_str().unwrap()).collect();
        assert_eq!(names, ["ops/a.h", "ops/b.h", "ops/c.h"]);
        assert!(with_included("ops/d.h", folder.path()).unwrap_err().contains("No such file"));
    }
}
