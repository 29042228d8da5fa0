//! The command lines of CANN's compiler and linker.

use super::diagnosis;
use super::toolkit::Toolkit;
use crate::compiler_output::first_error;
use crate::refused_operator;
use crate::units::Unit;
use hpmoe_core::artifacts::Fault;
use hpmoe_cxx::{Asker, Store};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The architecture of Ascend A2 and A3.
pub(super) const ARCHITECTURE: &str = "dav-2201";

/// Compiler options that determine the code of both halves of a kernel.
///
/// The compiler adds no synchronization, because kernels set all flags and barriers themselves, and no cache invalidation before scalar
/// reads, because kernels invalidate the cache themselves. The stack has the size that a launch gives a core by default.
const OPTIONS: [&str; 17] = [
    "-x",
    "asc",
    "--npu-arch=dav-2201",
    "-std=c++17",
    "-O3",
    "--aicore-only",
    "--cce-auto-sync=off",
    "-mllvm",
    "-cce-aicore-stack-size=0x8000",
    "-mllvm",
    "-cce-aicore-function-stack-size=0x8000",
    "-mllvm",
    "-cce-aicore-record-overflow=true",
    "-mllvm",
    "-cce-aicore-addr-transform",
    "-mllvm",
    "-cce-aicore-dcci-insert-for-scalar=false",
];

/// Leaves out the device's print buffers, which are part of a kernel otherwise.
const DEFINITION: &str = "-DASCENDC_DUMP=0";

/// The linker's arguments before and after the compiled object.
const LINK_OPTIONS: ([&str; 3], [&str; 1]) = (["-m", "aicorelinux", "-Ttext=0"], ["-static"]);

/// A toolkit's compiler and linker, and the folder of their objects.
pub(super) struct DeviceCompiler {
    compiler: PathBuf,
    linker: PathBuf,
    /// CANN's version and folder, for messages.
    toolkit: String,
    store: Store,
}

impl DeviceCompiler {
    pub(super) fn new(toolkit: &Toolkit, folder: &Path, asker: Asker) -> Result<Self, String> {
        let (compiler, linker) = (toolkit.program("bisheng")?, toolkit.program("ld.lld")?);
        let mut store = Store::new(folder, asker)?;
        store.depends_on_headers(Path::new(hpmoe_kernels::INCLUDE_DIR))?;
        for program in [&compiler, &linker] {
            // Another program may have an old time stamp, and the folder then has a new one.
            for path in [Some(program.as_path()), program.parent()].into_iter().flatten() {
                asker.depends_on(format_args!("rerun-if-changed={}", path.display()));
            }
            store.depends_on(version(program)?);
        }
        store.depends_on((&toolkit.version, OPTIONS, DEFINITION, LINK_OPTIONS));
        let toolkit = format!("CANN {}, `{}`", toolkit.version, toolkit.home.display());
        Ok(Self { compiler, linker, toolkit, store })
    }

    /// The linked object of a kernel. Compiles it unless an object with the same content exists.
    pub(super) fn object(&self, unit: &Unit) -> Result<PathBuf, Fault> {
        self.linked(&unit.device_source, unit.headers()).map_err(|refusal| match refusal {
            Refusal::Compiler(said) => {
                let compiler = format!("{} ({})", self.compiler.display(), self.toolkit);
                let of_operator = refused_operator::refused(unit, &unit.device_source, &compiler, &said);
                of_operator.unwrap_or_else(|| diagnosis::of_compiler(unit, &self.compiler, &self.toolkit, &said).into())
            }
            Refusal::Linker(said) => diagnosis::of_linker(unit, &self.linker, &self.toolkit, &said).into(),
            Refusal::Store(problem) => problem.into(),
        })
    }

    /// The linked object of a source file that does not belong to a kernel module.
    pub(super) fn object_of_file(&self, source: &Path) -> Result<PathBuf, String> {
        self.linked(source, None).map_err(|refusal| {
            let (program, said) = match refusal {
                Refusal::Compiler(said) => (&self.compiler, said),
                Refusal::Linker(said) => (&self.linker, said),
                Refusal::Store(problem) => return problem,
            };
            let (first, source) = (first_error(&said), source.display());
            format!("`{}` refused `{source}`: {first}\nIts output ({}):\n{said}", program.display(), self.toolkit)
        })
    }

    /// Compiles and links a file, unless the folder of objects already has the result.
    fn linked(&self, source: &Path, headers: Option<&Path>) -> Result<PathBuf, Refusal> {
        let linked = self.store.object(source, "aicore.o", |draft| {
            let part = draft.with_extension("part.o");
            let made = self.compile(source, headers, &part).and_then(|()| self.link(&part, draft));
            // A part that was never written can't be removed either.
            let _ = std::fs::remove_file(&part);
            made
        });
        linked.map_err(|refusal| match (&refusal, self.store.lacking_room()) {
            (Refusal::Compiler(said) | Refusal::Linker(said), Some(problem)) => {
                Refusal::Store(format!("can't compile `{}`: {problem}\nCANN says:\n{said}", source.display()))
            }
            _ => refusal,
        })
    }

    fn compile(&self, source: &Path, headers: Option<&Path>, part: &Path) -> Result<(), Refusal> {
        let mut command = command(&self.compiler);
        command.args(OPTIONS).arg(DEFINITION).arg("-I").arg(hpmoe_kernels::INCLUDE_DIR);
        if let Some(headers) = headers {
            command.arg("-I").arg(headers);
        }
        command.arg("-c").arg(source).arg("-o").arg(part);
        output(command).map_err(Refusal::Compiler)
    }

    fn link(&self, part: &Path, object: &Path) -> Result<(), Refusal> {
        let mut command = command(&self.linker);
        command.args(LINK_OPTIONS.0).arg(part).args(LINK_OPTIONS.1).arg("-o").arg(object);
        output(command).map_err(Refusal::Linker)
    }

    /// The message for an object that can't be launched.
    pub(super) fn unusable(&self, unit: &Unit, fault: &str) -> String {
        diagnosis::of_object(unit, &self.toolkit, fault)
    }
}

/// Why no object was made: the output of the program that failed, or what is wrong with the folder of objects.
enum Refusal {
    Compiler(String),
    Linker(String),
    Store(String),
}

impl From<String> for Refusal {
    fn from(problem: String) -> Self {
        Self::Store(problem)
    }
}

/// The command that starts a program of CANN, without libraries preloaded into this process. CANN's simulator preloads its runtime library,
/// which would add lines to the program's output.
fn command(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_remove("LD_PRELOAD");
    command
}

/// Runs a program; returns its output if it failed.
fn output(mut command: Command) -> Result<(), String> {
    let program = PathBuf::from(command.get_program());
    let output = command.output().map_err(|error| format!("can't start `{}`: {error}", program.display()))?;
    match output.status.success() {
        true => Ok(()),
        false => {
            let said = [output.stdout, output.stderr].concat();
            Err(format!("{}\n({})", String::from_utf8_lossy(&said).trim_end(), output.status))
        }
    }
}

fn version(program: &Path) -> Result<Vec<u8>, String> {
    let output = command(program).arg("--version").output();
    let output = output.map_err(|error| format!("can't start `{}`: {error}", program.display()))?;
    match output.status.success() {
        true => Ok([output.stdout, output.stderr].concat()),
        false => Err(format!(
            "`{} --version` failed ({}): {}\nhelp: is the CANN toolkit for this machine, and has its set_env.sh been run?",
            program.display(),
            output.status,
            String::from_utf8_lossy(&output.stderr).trim_end()
        )),
    }
}
