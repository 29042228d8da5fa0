//! From files to objects, each named by what decides its content.

use crate::Settings;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A C++ compiler, its flags, and the folder of its objects.
#[derive(Debug)]
pub struct Compiler {
    tool: cc::Tool,
    /// Of all that objects depend on, except for their own source.
    identity: DefaultHasher,
    folder: PathBuf,
}

impl Compiler {
    /// Finds the compiler, and tells cargo to run the build script again when the environment names another one or other
    /// flags, or when a header changes.
    ///
    /// # Errors
    ///
    /// There is no compiler, a header can't be read, or `HPMOE_OBJECTS` is not an absolute path.
    pub fn new(settings: &Settings<'_>, out_dir: &Path) -> Result<Self, String> {
        // `cc` itself tells cargo each variable that it reads.
        let build = settings.build();
        let tool = build.try_get_compiler().map_err(|error| {
            format!("no C++ compiler was found ({error}): install g++ or clang++, or name one in CXX")
        })?;
        build.try_get_archiver().map_err(|error| format!("no archiver was found ({error}): name one in AR"))?;
        let mut identity = DefaultHasher::new();
        for folder in settings.includes {
            println!("cargo::rerun-if-changed={}", folder.display());
            hash_headers(&mut identity, folder)?;
        }
        version(&tool)?.hash(&mut identity);
        (tool.path(), tool.args(), tool.get_envs().collect::<Vec<_>>()).hash(&mut identity);
        let folder = folder(out_dir)?;
        std::fs::create_dir_all(&folder).map_err(|error| format!("can't make `{}`: {error}", folder.display()))?;
        Ok(Self { tool, identity, folder })
    }

    /// The objects of these files, in the same order; those that are not there yet are compiled, as many at a time as there are
    /// processors.
    ///
    /// # Errors
    ///
    /// The first file, in their order, that can't be read or compiled.
    pub fn objects(&self, sources: &[&Path]) -> Result<Vec<PathBuf>, String> {
        let next = AtomicUsize::new(0);
        let results = Mutex::new(Vec::new());
        let threads = std::thread::available_parallelism().map_or(1, usize::from).min(sources.len());
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    loop {
                        let at = next.fetch_add(1, Ordering::Relaxed);
                        let Some(source) = sources.get(at) else { break };
                        let object = self.object(source);
                        results.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push((at, object));
                    }
                });
            }
        });
        let mut results = results.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        results.sort_by_key(|(at, _)| *at);
        results.into_iter().map(|(_, object)| object).collect()
    }

    fn object(&self, source: &Path) -> Result<PathBuf, String> {
        let text = std::fs::read_to_string(source).map_err(|e| format!("can't read `{}`: {e}", source.display()))?;
        let mut identity = self.identity.clone();
        without_comments(&text).hash(&mut identity);
        let object = self.folder.join(format!("{:016x}.o", identity.finish()));
        if object.exists() {
            return Ok(object);
        }
        // Written under another name first: an object that exists is whole, whoever else is compiling it.
        let draft = object.with_extension(format!("{}.draft", std::process::id()));
        let output = self.tool.to_command().arg("-c").arg(source).arg("-o").arg(&draft).output();
        let output = output.map_err(|error| format!("can't start `{}`: {error}", self.tool.path().display()))?;
        if !output.status.success() {
            return Err(self.refusal(source, &draft, &String::from_utf8_lossy(&output.stderr)));
        }
        std::fs::rename(&draft, &object).map_err(|error| format!("can't write `{}`: {error}", object.display()))?;
        Ok(object)
    }

    /// Why a file was not compiled: the compiler itself, its flags or its temporary folder where a file of a few lines is refused
    /// too, else the file.
    fn refusal(&self, source: &Path, draft: &Path, said: &str) -> String {
        let tool = self.tool.path().display();
        let (probe, object) = (draft.with_extension("probe.cpp"), draft.with_extension("probe.o"));
        let compiled = std::fs::write(&probe, PROBE).map_err(|error| error.to_string()).and_then(|()| {
            let mut command = self.tool.to_command();
            let output = command.arg("-c").arg(&probe).arg("-o").arg(&object).output();
            let output = output.map_err(|error| error.to_string())?;
            let words = || String::from_utf8_lossy(&output.stderr).into_owned();
            output.status.success().then_some(()).ok_or_else(words)
        });
        for file in [&probe, &object, &draft.to_path_buf()] {
            // What was never written can't be removed either.
            let _ = std::fs::remove_file(file);
        }
        match compiled {
            Ok(()) => {
                format!("the C++ compiler `{tool}` refused `{}`; this is a fault of hpmoe:\n{said}", source.display())
            }
            Err(problem) => format!(
                "the C++ compiler `{tool}` can't compile a C++17 file of five lines:\n{}\nhelp: hpmoe needs g++ 9 or clang++ 10, or \
                 newer: name one in CXX; look at CXXFLAGS, and at the space that is left in `{}` and in `{}`",
                problem.trim_end(),
                std::env::temp_dir().display(),
                self.folder.display()
            ),
        }
    }
}

/// What every compiler that hpmoe can use accepts.
const PROBE: &str = "#include <atomic>
#include <utility>
inline constexpr int value = 1;
template <int N> int probe(std::pair<int, int> pair) { auto [a, b] = pair; if constexpr (N > 0) return a; return b; }
int main() { std::atomic<int> sum{probe<value>({0, 1})}; return sum.load(); }
";

fn folder(out_dir: &Path) -> Result<PathBuf, String> {
    println!("cargo::rerun-if-env-changed=HPMOE_OBJECTS");
    let Some(named) = std::env::var_os("HPMOE_OBJECTS").filter(|named| !named.is_empty()) else {
        return Ok(out_dir.join("objects"));
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

fn version(tool: &cc::Tool) -> Result<Vec<u8>, String> {
    let output = Command::new(tool.path()).arg("--version").output();
    output.map(|output| output.stdout).map_err(|error| format!("can't start `{}`: {error}", tool.path().display()))
}

/// The text that decides what an object holds: lines that are comments alone don't.
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
}
