//! Compiles generated C++ for the host: a library for each kernel.

use crate::units::Unit;
use crate::{files, operators};
use hpmoe_cxx::{Compiler, Effort, Refusal, Settings, Source};
use std::path::Path;

/// Compiles and archives all units into `folder`.
pub(crate) fn compile(units: &[Unit], folder: &Path) -> Result<(), String> {
    let (own, plain): (Vec<&Unit>, Vec<&Unit>) = units.iter().partition(|unit| unit.headers().is_some());
    // Inlining all of the device library, as devices want it, takes as long as everything else. Operators stay parts of their callers:
    // those of two kernels may have one name, and a linker would take either for both.
    compile_with(&[("HPMOE_INLINE", "inline")], &plain, folder)?;
    compile_with(&[], &own, folder)
}

fn compile_with(macros: &[(&str, &str)], units: &[&Unit], folder: &Path) -> Result<(), String> {
    if units.is_empty() {
        return Ok(());
    }
    let includes = [Path::new(hpmoe_kernels::INCLUDE_DIR), Path::new(hpmoe_kernels::HOST_DIR)];
    let settings = Settings { warnings: true, includes: &includes, macros, effort: Effort::of_profile() };
    let compiler = Compiler::new(&settings, folder)?;
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
