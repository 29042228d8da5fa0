//! Compiles generated C++ for the host: a library for each kernel.

use hpmoe_cxx::{Compiler, Settings};
use std::path::{Path, PathBuf};

/// A generated file and the library it becomes.
pub(crate) struct Unit {
    pub(crate) symbol: String,
    pub(crate) source: PathBuf,
}

/// Compiles and archives all units into `folder`.
pub(crate) fn compile(units: &[Unit], folder: &Path) -> Result<(), String> {
    if units.is_empty() {
        return Ok(());
    }
    let includes = [Path::new(hpmoe_kernels::INCLUDE_DIR), Path::new(hpmoe_kernels::HOST_DIR)];
    let compiler = Compiler::new(&Settings { opt_level: 2, warnings: true, includes: &includes }, folder)?;
    let sources: Vec<&Path> = units.iter().map(|unit| unit.source.as_path()).collect();
    let objects = compiler.objects(&sources)?;
    units.iter().zip(objects).try_for_each(|(unit, object)| hpmoe_cxx::archive(&unit.symbol, &[object], folder))
}
