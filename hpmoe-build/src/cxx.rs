//! Compiles generated C++ for the host: one object per file, in parallel, reused when its text has not changed.

use hpmoe_language::fingerprint::Fingerprint;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A generated file and the library it becomes.
pub(crate) struct Unit {
    pub(crate) symbol: String,
    pub(crate) source: PathBuf,
}

/// Compiles and archives all units into `folder`.
pub(crate) fn compile(units: &[Unit], folder: &Path) -> Result<(), String> {
    println!("cargo::rerun-if-env-changed=CXX");
    if units.is_empty() {
        return Ok(());
    }
    let mut headers = Fingerprint::default();
    for directory in [hpmoe_kernels::INCLUDE_DIR, hpmoe_kernels::HOST_DIR] {
        println!("cargo::rerun-if-changed={directory}");
        headers = hash_headers(headers, Path::new(directory))?;
    }
    let compiler = compiler()
        .try_get_compiler()
        .map_err(|error| format!("no C++ compiler was found ({error}): install g++ or clang++, or name one in CXX"))?;
    let named = headers.text(&compiler.path().to_string_lossy()).text(&version(compiler.path())?);
    let environment = compiler.args().iter().fold(named, |hash, argument| hash.text(&argument.to_string_lossy()));
    let next = AtomicUsize::new(0);
    let problems = Mutex::new(Vec::new());
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(units.len());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(unit) = units.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Err(problem) = compile_unit(unit, &compiler, environment, folder) {
                        problems.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(problem);
                    }
                }
            });
        }
    });
    match problems.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner).into_iter().next() {
        Some(problem) => Err(problem),
        None => Ok(()),
    }
}

fn compiler() -> cc::Build {
    let mut build = cc::Build::new();
    build
        .cpp(true)
        .cargo_metadata(false)
        .std("c++17")
        // What a user's profile says about Rust says nothing about the kernel: it is run for its result, not stepped through.
        .opt_level(2)
        .debug(false)
        .flag("-ffp-contract=off")
        .warnings(true)
        .extra_warnings(true)
        .include(hpmoe_kernels::INCLUDE_DIR)
        .include(hpmoe_kernels::HOST_DIR);
    build
}

fn compile_unit(unit: &Unit, compiler: &cc::Tool, environment: Fingerprint, folder: &Path) -> Result<(), String> {
    let text =
        std::fs::read_to_string(&unit.source).map_err(|e| format!("can't read `{}`: {e}", unit.source.display()))?;
    let object = folder.join(format!("{}.o", environment.text(&without_comments(&text)).hex()));
    if !object.exists() {
        // Written under another name first: an object that exists is whole.
        let draft = object.with_extension(format!("{}.draft", std::process::id()));
        let mut command = compiler.to_command();
        let output = command.arg("-c").arg(&unit.source).arg("-o").arg(&draft).output();
        let output = output.map_err(|error| format!("can't start `{}`: {error}", compiler.path().display()))?;
        if !output.status.success() {
            return Err(format!(
                "the C++ compiler refused `{}`; this is a fault of hpmoe:\n{}",
                unit.source.display(),
                String::from_utf8_lossy(&output.stderr)
            ));
        }
        std::fs::rename(&draft, &object).map_err(|error| format!("can't write `{}`: {error}", object.display()))?;
    }
    let mut archive = compiler_for_archive(folder);
    archive.object(&object);
    archive.try_compile(&unit.symbol).map_err(|error| format!("can't archive `{}`: {error}", unit.symbol))
}

fn compiler_for_archive(folder: &Path) -> cc::Build {
    let mut build = compiler();
    build.out_dir(folder);
    build
}

/// The text that decides what the object holds: comments and `#line` don't.
fn without_comments(text: &str) -> String {
    text.lines().map(|line| line.split("//").next().unwrap_or_default().trim_end()).fold(
        String::with_capacity(text.len()),
        |mut all, line| {
            if !line.is_empty() {
                all.push_str(line);
                all.push('\n');
            }
            all
        },
    )
}

fn version(compiler: &Path) -> Result<String, String> {
    let output = Command::new(compiler).arg("--version").output();
    let output = output.map_err(|error| format!("can't start `{}`: {error}", compiler.display()))?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn hash_headers(hash: Fingerprint, directory: &Path) -> Result<Fingerprint, String> {
    let problem = |error| format!("can't read `{}`: {error}", directory.display());
    let mut paths: Vec<PathBuf> = std::fs::read_dir(directory)
        .map_err(problem)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()
        .map_err(problem)?;
    paths.sort();
    paths.iter().try_fold(hash, |hash, path| {
        if path.is_dir() {
            hash_headers(hash, path)
        } else if path.extension().is_some_and(|end| end == "h") {
            Ok(hash.text(&std::fs::read_to_string(path).map_err(problem)?))
        } else {
            Ok(hash)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_do_not_make_another_object() {
        assert_eq!(without_comments("// a\nint x; // y\n\nint z;\n"), without_comments("int x;\nint z; // other\n"));
        assert_ne!(without_comments("int x;"), without_comments("int y;"));
    }
}
