//! Compiles generated C++ for the host: a library for each kernel.

use crate::units::Unit;
use hpmoe_cxx::{Compiler, Settings};
use std::path::Path;

/// Compiles and archives all units into `folder`.
pub(crate) fn compile(units: &[Unit], folder: &Path) -> Result<(), String> {
    if units.is_empty() {
        return Ok(());
    }
    let includes = [Path::new(hpmoe_kernels::INCLUDE_DIR), Path::new(hpmoe_kernels::HOST_DIR)];
    let compiler = Compiler::new(&Settings { opt_level: 2, warnings: true, includes: &includes }, folder)?;
    let sources: Vec<&Path> = units.iter().map(|unit| unit.source.as_path()).collect();
    let objects = compiler.objects(&sources)?;
    let archive = |(unit, object): (&Unit, _)| hpmoe_cxx::archive(&unit.artifact.symbol, &[object], folder);
    units.iter().zip(objects).try_for_each(archive)
}
