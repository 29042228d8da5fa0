//! Compiles generated AscendC for NPUs by the compiler of CANN: an object with both halves of a kernel, which the macro embeds.

mod compiler;
pub(crate) mod diagnosis;
mod object;
mod toolkit;

use crate::files;
use crate::units::Unit;
use compiler::DeviceCompiler;
use hpmoe_core::artifacts::Fault;
use hpmoe_cxx::Asker;
use std::path::{Path, PathBuf};
use toolkit::Toolkit;

/// Compiles units by the toolkit in a folder, or by the installed one, and writes their objects for the macro, or the fault of each that has one.
///
/// # Errors
///
/// There is no toolkit, it is too old, or it lacks a program.
pub(crate) fn compile(units: &[&Unit], toolkit: Option<&Path>, folder: &Path) -> Result<(), String> {
    let toolkit = Toolkit::find(toolkit, Asker::BuildScript)?;
    let compiler = DeviceCompiler::new(&toolkit, folder, Asker::BuildScript)?;
    let objects = hpmoe_cxx::in_parallel(units, |unit| object(&compiler, unit));
    for (unit, object) in units.iter().zip(objects) {
        match object {
            Ok(path) => embed(unit, &path, &toolkit, folder)?,
            Err(fault) => files::write(&folder.join(unit.artifact.file("fault")), &fault.write())?,
        }
    }
    Ok(())
}

/// A file of AscendC as CANN compiled it when a program asked for that.
#[derive(Clone, Debug)]
pub struct DeviceObject {
    /// The version of CANN.
    pub version: String,
    /// The toolkit's folder.
    pub toolkit: PathBuf,
    /// The linked object, with the code for matrix and for vector cores.
    pub object: Vec<u8>,
}

/// Compiles a file of AscendC for NPUs, by the command lines that kernels are compiled with, for a program that does so while it runs. The
/// toolkit is the installed one. The object is kept in `folder`, or in the one that `HPMOE_OBJECTS` names, and checked as those of kernels
/// are.
///
/// # Errors
///
/// There is no toolkit that will do, it refuses the file, or its object has not both halves of the kernel `symbol`.
pub fn device_object(source: &Path, symbol: &str, folder: &Path) -> Result<DeviceObject, String> {
    let toolkit = Toolkit::find(None, Asker::Program)?;
    let compiler = DeviceCompiler::new(&toolkit, folder, Asker::Program)?;
    let object = read(&compiler.object_of_file(source)?)?;
    object::check(&object, symbol).map_err(|fault| {
        format!("CANN {} compiled `{}` to an object that can't be launched: {fault}", toolkit.version, source.display())
    })?;
    Ok(DeviceObject { version: toolkit.version, toolkit: toolkit.home, object })
}

fn object(compiler: &DeviceCompiler, unit: &Unit) -> Result<PathBuf, Fault> {
    let object = compiler.object(unit)?;
    let bytes = read(&object)?;
    object::check(&bytes, &unit.artifact.symbol).map_err(|fault| compiler.unusable(unit, &fault))?;
    Ok(object)
}

/// Puts the object where the macro includes it, with a notice that it is there.
fn embed(unit: &Unit, object: &Path, toolkit: &Toolkit, folder: &Path) -> Result<(), String> {
    files::write_bytes(&folder.join(unit.artifact.file("device.o")), &read(object)?)?;
    let notice = format!("CANN {}, {}\n", toolkit.version, compiler::ARCHITECTURE);
    files::write(&folder.join(unit.artifact.file("device")), &notice)
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    std::fs::read(path).map_err(|error| format!("can't read `{}`: {error}", path.display()))
}
