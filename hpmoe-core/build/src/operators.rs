//! Files of external operators: what they hold, and what is said where a compiler refuses one.

use crate::cann::diagnosis::{first_error, generated_line};
use crate::units::Unit;
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
    task: String,
    /// The function in C++.
    function: String,
    /// Its file, as the source names it.
    file: String,
    /// That file and those that it includes.
    files: Files,
    /// How the function must be declared.
    signature: String,
}

/// The files that a kernel's tasks name, each with all that it includes, or why it can't be read.
pub(crate) struct OperatorFiles(ByName<Result<Files, String>>);

/// Paths from the folder of Cargo.toml on, with their texts, in the order of the paths.
type Files = Vec<(PathBuf, String)>;

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

/// The fault of the operator that a compiler refuses; `None` where it says nothing of any operator. `source` is the generated file.
pub(crate) fn refused(unit: &Unit, source: &Path, compiler: &str, said: &str) -> Option<Fault> {
    let in_files = |line: &str, operator: &Operator| {
        operator.files.iter().any(|(path, _)| line.contains(&format!("{}:", path.display())))
    };
    let of_lines = |error: bool| {
        let mut lines = said.lines().filter(move |line| !error || line.contains("error"));
        lines.find_map(|line| unit.operators.iter().find(|operator| in_files(line, operator)))
    };
    let call = generated_line(source, said).and_then(|line| {
        let text = std::fs::read_to_string(source).ok()?;
        let text = text.lines().nth(line - 1)?.trim().to_owned();
        unit.operators.iter().find(|operator| {
            let called = text.strip_prefix(&format!("::{}", operator.function));
            called.is_some_and(|rest| rest.starts_with(['(', '<']))
        })
    });
    let (operator, problem) = match (of_lines(true), call) {
        (Some(operator), _) => (operator, "is refused"),
        (None, Some(operator)) if !declares(operator) => (operator, "has no such function"),
        (None, Some(operator)) => (operator, "has a function that doesn't take what the task gives"),
        (None, None) => (of_lines(false)?, "is refused"),
    };
    let Operator { task, function, file, signature, .. } = operator;
    Some(Fault {
        task: Some(task.clone()),
        text: format!(
            "`{file}`, where the task `{task}` has its external operator `{function}`, {problem}: {} [HP20]\n`{compiler}` says:\n{}\n\
             help: the function is declared as\n  {signature}\n`hpmoe emit {} --task {task}` prints the whole contract",
            first_error(said),
            said.trim_end(),
            unit.file
        ),
    })
}

/// Whether the name of an operator's function stands anywhere in its files.
fn declares(operator: &Operator) -> bool {
    let name = operator.function.rsplit("::").next().unwrap_or(&operator.function);
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut words = operator.files.iter().flat_map(|(_, text)| text.split(|c| !is_part(c)));
    words.any(|word| word == name)
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
