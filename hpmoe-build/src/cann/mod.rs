//! Compiles generated AscendC for NPUs by the compiler of CANN: an object with both halves of a kernel, which the macro embeds.

mod compiler;
pub(crate) mod diagnosis;
mod object;
mod toolkit;

use crate::files;
use crate::units::Unit;
use compiler::DeviceCompiler;
use hpmoe_language::artifacts::Fault;
use std::path::{Path, PathBuf};
use toolkit::Toolkit;

/// Compiles units by the toolkit in a folder, or by the installed one, and writes their objects for the macro, or the fault of each that has one.
///
/// # Errors
///
/// There is no toolkit, it is too old, or it lacks a program.
pub(crate) fn compile(units: &[&Unit], toolkit: Option<&Path>, folder: &Path) -> Result<(), String> {
    let toolkit = Toolkit::find(toolkit)?;
    let compiler = DeviceCompiler::new(&toolkit, folder)?;
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
