//! The model of AscendC (`host/`), compiled once for all tests of this program that link with it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, OnceLock};

/// Environment variable with a folder of headers that replace headers of the device library. Every file first includes its `choices.h`.
/// Linked programs stay in the folder for later runs.
const CHANGED: &str = "HPMOE_CHANGED_HEADERS";

fn changed() -> Option<PathBuf> {
    std::env::var_os(CHANGED).map(PathBuf::from)
}

/// The C++ compiler that build scripts use on this machine, with the flags of host kernels.
pub(crate) fn compiler(changed: Option<&Path>) -> cc::Tool {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let version = Command::new(rustc).arg("-vV").output().expect("rustc -vV").stdout;
    let version = String::from_utf8(version).expect("rustc speaks UTF-8");
    let target = version.lines().find_map(|line| line.strip_prefix("host: ")).expect("rustc names its host");
    let mut build = cc::Build::new();
    match changed {
        // Changed headers cause warnings, such as comparisons that are always true, and unused names.
        Some(folder) => {
            build.flag("-include").flag(folder.join("choices.h")).include(folder);
            build.flag("-Wno-narrowing").warnings(false)
        }
        None => build.warnings(true).extra_warnings(true).warnings_into_errors(true),
    };
    build
        .cpp(true)
        .std("c++17")
        .target(target)
        .host(target)
        .opt_level(1)
        // Inlining all of the device library, as devices want it, would take as long as everything else.
        .define("HPMOE_INLINE", "inline")
        .flag("-ffp-contract=off")
        .flag("-pthread")
        .include(folder("host"))
        .include(folder("include"))
        .cargo_metadata(false)
        .get_compiler()
}

/// A folder of this package.
pub(crate) fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// The C++ files of a folder.
pub(crate) fn sources(folder: &Path) -> Vec<PathBuf> {
    let files = std::fs::read_dir(folder).expect("a source folder").map(|entry| entry.expect("a file").path());
    let mut sources: Vec<_> = files.filter(|path| path.extension().is_some_and(|e| e == "cpp")).collect();
    sources.sort();
    sources
}

/// If headers are changed, the sources that run the device library; otherwise all sources.
pub(crate) fn concerned(mut sources: Vec<PathBuf>) -> Vec<PathBuf> {
    let runs_it = |path: &PathBuf| {
        let text = std::fs::read_to_string(path).expect("a source file");
        ["\"hpmoe/", "\"cores.h\"", "\"ranks.h\"", "int main("].iter().any(|part| text.contains(part))
    };
    if changed().is_some() {
        sources.retain(runs_it);
    }
    sources
}

/// The objects of the model, by source.
pub(crate) fn objects_of_model() -> &'static BTreeMap<PathBuf, PathBuf> {
    static MODEL: OnceLock<BTreeMap<PathBuf, PathBuf>> = OnceLock::new();
    MODEL.get_or_init(|| {
        let into = Path::new(env!("CARGO_TARGET_TMPDIR")).join("model");
        std::fs::create_dir_all(&into).expect("a folder for objects");
        compile(&compiler(None), sources(&folder("host")), &into)
    })
}

/// Links the model with more sources into a program with the given name, unless an earlier run left one.
pub(crate) fn linked(name: &str, more: Vec<PathBuf>, scratch: &Path) -> PathBuf {
    let changed = changed();
    let program = changed.as_deref().unwrap_or(scratch).join(name);
    if program.exists() {
        return program;
    }
    let tool = compiler(changed.as_deref());
    let objects = compile(&tool, more, scratch).into_values();
    let status = tool.to_command().args(objects).args(objects_of_model().values()).arg("-o").arg(&program).status();
    assert!(status.expect("the C++ compiler").success(), "the program does not link");
    program
}

/// Compiles all files, one per processor at a time, and returns the objects by source.
fn compile(tool: &cc::Tool, sources: Vec<PathBuf>, into: &Path) -> BTreeMap<PathBuf, PathBuf> {
    let queue = Mutex::new(sources.into_iter().enumerate());
    let objects = Mutex::new(BTreeMap::new());
    let workers = std::thread::available_parallelism().map_or(1, |n| n.get());
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let next = queue.lock().expect("queue").next();
                    let Some((number, source)) = next else { break };
                    let object = into.join(format!("{number}.o"));
                    let status = tool.to_command().arg("-c").arg(&source).arg("-o").arg(&object).status();
                    assert!(status.expect("the C++ compiler").success(), "{} does not compile", source.display());
                    objects.lock().expect("objects").insert(source, object);
                }
            });
        }
    });
    objects.into_inner().expect("objects")
}
