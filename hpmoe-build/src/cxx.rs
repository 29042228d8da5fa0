//! Compiles generated C++ for the host: a library for each kernel.

use crate::units::Unit;
use crate::{files, operators};
use hpmoe_cxx::{Compiler, Refusal, Settings, Source};
use std::path::Path;

/// Compiles and archives all units into `folder`.
pub(crate) fn compile(units: &[Unit], folder: &Path) -> Result<(), String> {
    if units.is_empty() {
        return Ok(());
    }
    let includes = [Path::new(hpmoe_kernels::INCLUDE_DIR), Path::new(hpmoe_kernels::HOST_DIR)];
    let compiler = Compiler::new(&Settings { warnings: true, includes: &includes }, folder)?;
    let sources: Vec<Source<'_>> =
        units.iter().map(|unit| Source { file: &unit.source, headers: unit.headers() }).collect();
    for (unit, object) in units.iter().zip(compiler.each(&sources)) {
        match object {
            Ok(object) => hpmoe_cxx::archive(&unit.artifact.symbol, &[object], folder)?,
            Err(refusal) => {
                let fault = match &refusal {
                    Refusal::File { compiler, said, .. } => operators::refused(unit, &unit.source, compiler, said),
                    Refusal::Compiler(_) => None,
                };
                let fault = fault.ok_or_else(|| refusal.to_string())?;
                files::write(&folder.join(unit.artifact.file("fault")), &fault.write())?;
            }
        }
    }
    Ok(())
}
