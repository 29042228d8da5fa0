//! Compiles the model of AscendC (`host/`) with its C++ tests, some of which run the device library on it, and runs them.
//!
//! `HPMOE_HOST_CASE=name cargo test -p hpmoe-kernels --test all host_ascendc -- --nocapture` runs the cases whose name contains `name`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

/// The C++ compiler that a build script of this machine would use, with the flags of host kernels.
fn compiler() -> cc::Tool {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let version = Command::new(rustc).arg("-vV").output().expect("rustc -vV").stdout;
    let version = String::from_utf8(version).expect("rustc speaks UTF-8");
    let target = version.lines().find_map(|line| line.strip_prefix("host: ")).expect("rustc names its host");
    cc::Build::new()
        .cpp(true)
        .std("c++17")
        .target(target)
        .host(target)
        .opt_level(2)
        .warnings(true)
        .extra_warnings(true)
        .warnings_into_errors(true)
        .flag("-ffp-contract=off")
        .flag("-pthread")
        .include(folder("host"))
        .include(folder("include"))
        .cargo_metadata(false)
        .get_compiler()
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let files = std::fs::read_dir(folder).expect("a source folder").map(|entry| entry.expect("a file").path());
    let mut sources: Vec<_> = files.filter(|path| path.extension().is_some_and(|e| e == "cpp")).collect();
    sources.sort();
    sources
}

/// Compiles every file, as many at a time as there are processors, and gives back the objects.
fn compile(tool: &cc::Tool, sources: Vec<PathBuf>, into: &Path) -> Vec<PathBuf> {
    let queue = Mutex::new(sources.into_iter().enumerate());
    let objects = Mutex::new(Vec::new());
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
                    objects.lock().expect("objects").push(object);
                }
            });
        }
    });
    let mut objects = objects.into_inner().expect("objects");
    objects.sort();
    objects
}

#[test]
fn the_model_passes_its_cases() {
    let scratch = tempfile::tempdir().expect("a temporary folder");
    let tool = compiler();
    let mut all = sources(&folder("host"));
    all.extend(sources(&folder("tests/host")));
    let objects = compile(&tool, all, scratch.path());
    let program = scratch.path().join("cases");
    let linked = tool.to_command().args(&objects).arg("-o").arg(&program).status().expect("the C++ compiler");
    assert!(linked.success(), "the cases do not link");

    let mut command = Command::new(&program);
    command.env("HPMOE_EXP_CHECKSUM", format!("{:x}", hpmoe_kernels::math::EXP_CHECKSUM));
    if let Some(case) = std::env::var_os("HPMOE_HOST_CASE") {
        command.arg(case);
    }
    let output = command.output().expect("the cases run");
    print!("{}", String::from_utf8_lossy(&output.stdout));
    assert!(output.status.success(), "cases failed ({})", output.status);
}
