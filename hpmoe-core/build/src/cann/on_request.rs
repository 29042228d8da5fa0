//! Compiles with CANN at run time: one AscendC file, or all kernels of a Rust file.

use super::compiler::DeviceCompiler;
use super::object;
use super::toolkit::Toolkit;
use crate::module::settings_of;
use crate::target::fit_for_kernels;
use hpmoe_core::analyze::CheckedGraph;
use hpmoe_core::artifacts::plain;
use hpmoe_core::compile::scheduled;
use hpmoe_core::emit::{Machine, Names, ascendc};
use hpmoe_core::front::{front, modules};
use hpmoe_core::schedule::Choices;
use hpmoe_core::sizes::{Expected, open_sizes};
use hpmoe_core::syntax::Overrides;
use hpmoe_core::target::Target;
use hpmoe_core::tuned::overrides;
use hpmoe_cxx::Asker;
use std::path::{Path, PathBuf};

/// The CANN toolkit that builds use on this machine, unless a build script names another one.
#[derive(Clone, Debug)]
pub struct InstalledToolkit {
    /// Folder of the toolkit.
    pub folder: PathBuf,
    /// Version of CANN.
    pub version: String,
    /// Path of the compiler, `bisheng`.
    pub compiler: PathBuf,
}

/// Finds the CANN toolkit that builds use unless they name another one: the folder in `ASCEND_HOME_PATH`, or else a default folder.
///
/// # Errors
///
/// If no toolkit is found, or the toolkit is too old or lacks the compiler or the linker.
pub fn installed_toolkit() -> Result<InstalledToolkit, String> {
    let toolkit = Toolkit::find(None, Asker::Program)?;
    let (compiler, _) = (toolkit.program("bisheng")?, toolkit.program("ld.lld")?);
    Ok(InstalledToolkit { folder: toolkit.home, version: toolkit.version, compiler })
}

/// An AscendC file that a program compiled with CANN at run time.
#[derive(Clone, Debug)]
pub struct DeviceObject {
    /// The version of CANN.
    pub version: String,
    /// The toolkit's folder.
    pub toolkit: PathBuf,
    /// The linked object, with code for matrix cores and for vector cores.
    pub object: Vec<u8>,
    /// Code size in bytes of the kernel's matrix-core function and of its vector-core function, without called routines.
    pub entries: [u64; 2],
    /// Size of all code in the object in bytes, including called routines.
    pub code: u64,
}

/// Compiles an AscendC file for NPUs at run time, with the same command lines as a build uses for kernels. The toolkit is
/// the installed one. The object is stored in `folder`, or in the folder that `HPMOE_OBJECTS` names, and gets the same
/// checks as a kernel's object.
///
/// # Errors
///
/// If no usable toolkit is installed, a file can't be read or written, the compiler or the linker refuses the file, or the object can't be
/// launched as the kernel `symbol`, for instance because it has code for only one kind of core.
pub fn device_object(source: &Path, symbol: &str, folder: &Path) -> Result<DeviceObject, String> {
    let toolkit = Toolkit::find(None, Asker::Program)?;
    let compiler = DeviceCompiler::new(&toolkit, folder, Asker::Program)?;
    let object = object::read(&compiler.object_of_file(source)?)?;
    object::check(&object, symbol).map_err(|fault| {
        format!("CANN {} compiled `{}` to an object that can't be launched: {fault}", toolkit.version, source.display())
    })?;
    let (entries, code) = object::sizes(&object, symbol);
    Ok(DeviceObject { version: toolkit.version, toolkit: toolkit.home, object, entries, code })
}

/// A taskflow that a program compiled with CANN at run time.
#[derive(Clone, Debug)]
pub struct DeviceKernel {
    /// Name of the kernel module.
    pub kernel: String,
    /// Name of the taskflow.
    pub taskflow: String,
    /// Estimated code size in bytes for matrix cores and for vector cores, including the device library.
    pub estimated: [u64; 2],
    /// The object, or the reason why it could not be made.
    pub object: Result<DeviceObject, String>,
}

/// Compiles all kernels of a file for NPUs, like a build with these constants and this number of matrix cores (by default 24), but without
/// time stamps and tuned schedules. Sources and objects are stored in `folder`. A kernel that CANN refuses is part of the result, with the
/// reason in [`DeviceKernel::object`].
///
/// # Errors
///
/// If the file can't be read or is not Rust, a kernel in it has faults or no valid schedule, `matrix_cores` is impossible, or a source
/// can't be written.
pub fn device_kernels(
    file: &Path,
    settings: &Overrides,
    matrix_cores: Option<u32>,
    folder: &Path,
) -> Result<Vec<DeviceKernel>, String> {
    let text = std::fs::read_to_string(file).map_err(|error| format!("can't read `{}`: {error}", file.display()))?;
    let modules = modules(&text).map_err(|error| format!("`{}` is not Rust: {error}", file.display()))?;
    let target = fit_for_kernels(Target::ascend_a3(), None, matrix_cores)?;
    let mut kernels = Vec::new();
    for module in &modules {
        let set = settings_of(module, settings);
        let open = open_sizes(module, &set, &target, Expected::default())?;
        let front = front(module, &overrides(&set, &open)).map_err(|faults| {
            let faults: Vec<String> = faults.iter().map(hpmoe_core::finding::Diagnostic::text).collect();
            format!("`{}`: {}", file.display(), faults.join("\n"))
        })?;
        for checked in &front.flows {
            kernels.push(device_kernel(checked, &target, file, folder)?);
        }
    }
    Ok(kernels)
}

fn device_kernel(checked: &CheckedGraph, target: &Target, file: &Path, folder: &Path) -> Result<DeviceKernel, String> {
    let (kernel, taskflow) = (checked.graph().kernel.clone(), checked.graph().taskflow.clone());
    let symbol = format!("{}_{}", plain(&kernel), plain(&taskflow));
    let names = Names { file: &file.to_string_lossy(), symbol: &symbol, time_stamps: false };
    let code = ascendc(checked, &scheduled(checked, target, &Choices::default())?, &names, Machine::Device);
    let source = folder.join(format!("{symbol}.cpp"));
    let written = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&source, &code.text));
    written.map_err(|error| format!("can't write `{}`: {error}", source.display()))?;
    let object = device_object(&source, &symbol, folder);
    Ok(DeviceKernel { kernel, taskflow, estimated: [code.aic.whole().0, code.aiv.whole().0], object })
}
