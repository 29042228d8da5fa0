//! Kernels of tests, each a C++ file that is compiled when a test needs it. The library has its own copy of the AscendC implementation.
#![expect(unsafe_code, reason = "a C interface")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicI32;

use libloading::Library;

use super::ffi::HostRun;
use super::{Outcome, RankRun};
use crate::EntryPoint;

/// A test's kernel, and the AscendC implementation that it is linked with.
pub(crate) struct KernelLibrary {
    entry: EntryPoint,
    host_run: HostRun,
    /// The library that both functions belong to. They stay loaded while it lives.
    _library: Library,
}

impl KernelLibrary {
    /// Compiles a file of this package's tests. The kernel's entry point has the file's name.
    ///
    /// If `HPMOE_CHANGED_HEADERS` names a folder, its headers precede the device library's, and its `choices.h` precedes all; the library
    /// is kept there for later calls.
    pub(crate) fn compile(file: &str) -> Self {
        let package = Path::new(env!("CARGO_MANIFEST_DIR"));
        let source = package.join("tests/device").join(file).with_extension("cpp");
        let changed = std::env::var_os("HPMOE_CHANGED_HEADERS").map(PathBuf::from);
        let scratch = tempfile::tempdir().expect("a temporary folder");
        let target = changed.as_deref().unwrap_or(scratch.path()).join(file).with_extension("so");
        if !target.exists() {
            let mut command = compiler(changed.as_deref()).to_command();
            command.args(["-shared", "-o"]);
            command.args([&target, &source, &Path::new(env!("OUT_DIR")).join("libhpmoe_host.a")]);
            let output = command.output().expect("the C++ compiler");
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
        // SAFETY: the library's initialisers are those of the host's AscendC, which this program runs as well.
        let library = unsafe { Library::new(&target) }.expect("the library loads");
        // SAFETY: the symbols have these types: one is declared in `launch.h`, the other one is the kernel's entry point.
        let (entry, host_run) = unsafe {
            let entry = *library.get::<EntryPoint>(file.as_bytes()).expect("the kernel");
            (entry, *library.get::<HostRun>(b"hpmoe_host_run").expect("the host's AscendC"))
        };
        Self { entry, host_run, _library: library }
    }

    /// The kernel's entry point.
    pub(crate) const fn entry(&self) -> EntryPoint {
        self.entry
    }

    /// Runs the kernel and returns when all cores have finished.
    pub(crate) fn run(&self, run: &RankRun<'_>, stop: &AtomicI32) -> Outcome {
        run.run_by(self.host_run, stop)
    }
}

fn compiler(changed: Option<&Path>) -> cc::Tool {
    // Tests have none of a build script's variables.
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let version = Command::new(rustc).arg("-vV").output().expect("rustc -vV").stdout;
    let version = String::from_utf8(version).expect("rustc speaks UTF-8");
    let target = version.lines().find_map(|line| line.strip_prefix("host: ")).expect("rustc names its host");
    let mut build = cc::Build::new();
    match changed {
        // Changes make comparisons that are always true, and names that nothing uses.
        Some(folder) => build.flag("-include").flag(folder.join("choices.h")).include(folder).warnings(false),
        None => build.warnings(true).extra_warnings(true).warnings_into_errors(true),
    };
    build
        .cpp(true)
        .std("c++17")
        .target(target)
        .host(target)
        .opt_level(1)
        .flag("-ffp-contract=off")
        .flag("-pthread")
        .define("HPMOE_INLINE", "inline")
        .include(hpmoe_kernels::HOST_DIR)
        .include(hpmoe_kernels::INCLUDE_DIR)
        .cargo_metadata(false)
        .get_compiler()
}
