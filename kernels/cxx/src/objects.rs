//! Compiles C++ files to objects, with the compiler that the environment names.

use crate::arithmetic::arithmetic;
use crate::settings::called;
use crate::{Asker, Settings, Store, in_parallel};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A C++ compiler, its flags, and the folder of its objects.
#[derive(Debug)]
pub struct Compiler {
    tool: cc::Tool,
    /// Flags that come last, so that flags of the environment don't change arithmetic.
    arithmetic: Vec<&'static str>,
    /// Flags that name folders of this machine. Objects don't depend on these folders.
    places: Vec<OsString>,
    store: Store,
}

impl Compiler {
    /// Finds the compiler. Tells cargo to run the build script again if the environment names another compiler or other
    /// flags, or if a header changes.
    ///
    /// # Errors
    ///
    /// If there is no compiler or no archiver, if a header can't be read, if the folder of objects can't be made, or if `HPMOE_OBJECTS` is
    /// not an absolute path.
    pub fn new(settings: &Settings<'_>, out_dir: &Path) -> Result<Self, String> {
        // `cc` itself tells cargo each variable that it reads.
        let build = settings.build();
        let tool = build.try_get_compiler().map_err(|error| {
            format!("no C++ compiler was found ({error}): install g++ or clang++, or name one in CXX")
        })?;
        build.try_get_archiver().map_err(|error| format!("no archiver was found ({error}): name one in AR"))?;
        let mut store = Store::new(out_dir, Asker::BuildScript)?;
        settings.includes.iter().try_for_each(|folder| store.depends_on_headers(folder))?;
        store.depends_on(version(&tool)?);
        store.depends_on((tool.path(), tool.args(), tool.get_envs().collect::<Vec<_>>()));
        let arithmetic = arithmetic(&tool);
        store.depends_on(&arithmetic);
        Ok(Self { tool, arithmetic, places: settings.places(), store })
    }

    /// The path of the compiler.
    #[must_use]
    pub fn program(&self) -> &Path {
        self.tool.path()
    }

    /// Returns the objects of these files, in the same order. Missing objects are compiled, as many at a time as there are processors.
    ///
    /// # Errors
    ///
    /// The error of the first of `sources` that can't be read or compiled.
    pub fn objects(&self, sources: &[&Path]) -> Result<Vec<PathBuf>, String> {
        let sources: Vec<Source<'_>> = sources.iter().map(|file| Source { file, headers: None }).collect();
        self.each(&sources).into_iter().map(|object| object.map_err(|refusal| refusal.to_string())).collect()
    }

    /// The object of each file, or the reason why there is none, in the order of `sources`.
    #[must_use]
    pub fn each(&self, sources: &[Source<'_>]) -> Vec<Result<PathBuf, Refusal>> {
        in_parallel(sources, |source| self.object(source))
    }

    /// The compiler with all flags except those of single files.
    fn command(&self) -> Command {
        let mut command = self.tool.to_command();
        command.args(&self.arithmetic);
        command
    }

    fn object(&self, Source { file: source, headers }: &Source<'_>) -> Result<PathBuf, Refusal> {
        let folder = source.parent().unwrap_or(Path::new(""));
        self.store.object(source, "o", |draft| {
            let mut command = self.command();
            command.args(&self.places).arg(called(&folder.join(""), Path::new("")));
            if let Some(headers) = headers {
                command.arg("-I").arg(headers).arg(called(&headers.join(""), Path::new("")));
            }
            let output = command.arg("-c").arg(source).arg("-o").arg(draft).output();
            let output = output.map_err(|error| format!("can't start `{}`: {error}", self.tool.path().display()))?;
            match output.status.success() {
                true => Ok(()),
                false => Err(self.refusal(source, draft, &String::from_utf8_lossy(&output.stderr))),
            }
        })
    }

    /// The reason why a file was not compiled: a folder without room; the compiler or its flags, if they refuse even a file of a few lines;
    /// otherwise the file.
    fn refusal(&self, source: &Path, draft: &Path, said: &str) -> Refusal {
        let tool = self.tool.path().display();
        let (probe, object) = (draft.with_extension("probe.cpp"), draft.with_extension("probe.o"));
        let compiled = std::fs::write(&probe, PROBE).map_err(|error| error.to_string()).and_then(|()| {
            let mut command = self.command();
            let output = command.arg("-c").arg(&probe).arg("-o").arg(&object).output();
            let output = output.map_err(|error| error.to_string())?;
            let words = || String::from_utf8_lossy(&output.stderr).into_owned();
            output.status.success().then_some(()).ok_or_else(words)
        });
        for file in [&probe, &object, &draft.to_path_buf()] {
            // What was never written can't be removed either.
            let _ = std::fs::remove_file(file);
        }
        if let Some(problem) = self.store.lacking_room() {
            return Refusal::Compiler(format!(
                "the C++ compiler `{tool}` can't compile `{}`: {problem}\nIt says:\n{}",
                source.display(),
                said.trim_end()
            ));
        }
        match compiled {
            Ok(()) => {
                let compiler = tool.to_string();
                Refusal::File { compiler, file: source.to_path_buf(), said: said.to_owned() }
            }
            Err(problem) => Refusal::Compiler(format!(
                "the C++ compiler `{tool}` can't compile a C++17 file of a few lines:\n{}\nhelp: hpmoe needs g++ 9 or clang++ 10, or \
                 newer: name one in CXX; look at CXXFLAGS, and at the space that is left in `{}` and in `{}`",
                problem.trim_end(),
                std::env::temp_dir().display(),
                self.store.folder().display()
            )),
        }
    }
}

/// A file to compile.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// The C++ file.
    pub file: &'a Path,
    /// A folder of headers for this file only. Objects are looked up by the file's text, so the text must identify the headers' contents
    /// (by a hash in a name).
    pub headers: Option<&'a Path>,
}

/// The reason why there is no object of a file.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Refusal {
    /// The compiler, its flags or a folder is at fault, or a file can't be read or written. The text says which, with a way out.
    #[error("{0}")]
    Compiler(String),
    /// The compiler works, but refused the file.
    #[error("the C++ compiler `{compiler}` refused `{}`; this is a fault of hpmoe:\n{said}", file.display())]
    File {
        /// The path of the compiler.
        compiler: String,
        /// The file that was refused.
        file: PathBuf,
        /// The compiler's output.
        said: String,
    },
}

impl From<String> for Refusal {
    fn from(problem: String) -> Self {
        Self::Compiler(problem)
    }
}

/// A file that any compiler fit for hpmoe accepts. It checks the flags, because a compiler that is a script can add flags after all others.
const PROBE: &str = "#include <atomic>
#if defined(__FAST_MATH__) || __FINITE_MATH_ONLY__ || defined(__ASSOCIATIVE_MATH__) || defined(__RECIPROCAL_MATH__) || defined(__NO_SIGNED_ZEROS__)
#error this compiler changes the results of arithmetic by -ffast-math or a part of it
#endif
#include <utility>
inline constexpr int value = 1;
template <int N> int probe(std::pair<int, int> pair) { auto [a, b] = pair; if constexpr (N > 0) return a; return b; }
int main() { std::atomic<int> sum{probe<value>({0, 1})}; return sum.load(); }
";

fn version(tool: &cc::Tool) -> Result<Vec<u8>, String> {
    let output = Command::new(tool.path()).arg("--version").output();
    output.map(|output| output.stdout).map_err(|error| format!("can't start `{}`: {error}", tool.path().display()))
}
