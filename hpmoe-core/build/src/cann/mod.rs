//! Compiles generated AscendC for NPUs with CANN's compiler. The result is one object with the matrix-core and
//! vector-core halves of a kernel, which the macro embeds.

mod compiler;
pub(crate) mod diagnosis;
mod object;
mod on_request;
mod toolkit;

use crate::files;
use crate::units::Unit;
use compiler::DeviceCompiler;
use hpmoe_core::artifacts::Fault;
use hpmoe_cxx::Asker;
use std::path::{Path, PathBuf};
use toolkit::Toolkit;

pub use on_request::{DeviceKernel, DeviceObject, InstalledToolkit, device_kernels, device_object, installed_toolkit};

/// Compiles units with the toolkit in `toolkit`, or with the installed one. For each unit, writes the object for the macro, or the fault.
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

fn object(compiler: &DeviceCompiler, unit: &Unit) -> Result<PathBuf, Fault> {
    let object = compiler.object(unit)?;
    let bytes = object::read(&object)?;
    object::check(&bytes, &unit.artifact.symbol).map_err(|fault| compiler.unusable(unit, &fault))?;
    Ok(object)
}

/// Copies the object to the folder from which the macro includes it, and writes a file with CANN's version.
fn embed(unit: &Unit, object: &Path, toolkit: &Toolkit, folder: &Path) -> Result<(), String> {
    files::write_bytes(&folder.join(unit.artifact.file("device.o")), &object::read(object)?)?;
    let notice = format!("CANN {}, {}\n", toolkit.version, compiler::ARCHITECTURE);
    files::write(&folder.join(unit.artifact.file("device")), &notice)
}
