//! Compiles generated C++ for the host: a library for each kernel, which has a copy of what makes routes if the kernel makes its own.

use crate::units::Unit;
use crate::{files, refused_operator};
use hpmoe_cxx::{Compiler, Effort, Refusal, Settings, Source};
use std::path::{Path, PathBuf};

/// Compiles and archives all units into `folder`.
pub(crate) fn compile(units: &[Unit], folder: &Path) -> Result<(), String> {
    let (own, plain): (Vec<&Unit>, Vec<&Unit>) = units.iter().partition(|unit| unit.headers().is_some());
    // Inlining all of the device library, as devices want it, takes as long as everything else. Operators stay parts of their callers:
    // those of two kernels may have one name, and a linker would take either for both.
    compile_with(&[APART, ("HPMOE_INLINE", "inline")], &plain, folder)?;
    compile_with(&[APART], &own, folder)
}

/// What makes routes is compiled once for all kernels, and not again when a kernel changes.
const APART: (&str, &str) = ("HPMOE_ROUTING_APART", "1");

/// The file of what makes routes. The linker takes any one of those that several kernels bring along.
const ROUTING: &str = "\
// What makes the routes of kernels that make their own, made by hpmoe. Do not edit.
#include \"hpmoe/routing/make.h\"

namespace hpmoe {

__attribute__((weak)) bool MakeRouteApart(VectorCore &core) { return MakeRoute(core); }

} // namespace hpmoe
";

fn compile_with(macros: &[(&str, &str)], units: &[&Unit], folder: &Path) -> Result<(), String> {
    if units.is_empty() {
        return Ok(());
    }
    let includes = [Path::new(hpmoe_kernels::INCLUDE_DIR), Path::new(hpmoe_kernels::HOST_DIR)];
    let settings = Settings { warnings: true, includes: &includes, macros, effort: Effort::of_kernels() };
    let compiler = Compiler::new(&settings, folder)?;
    let mut sources: Vec<Source<'_>> =
        units.iter().map(|unit| Source { file: &unit.source, headers: unit.headers() }).collect();
    let routing = folder.join("routing.cpp");
    if units.iter().any(|unit| unit.makes_route) {
        files::write(&routing, ROUTING)?;
        sources.push(Source { file: &routing, headers: None });
    }
    let mut objects = compiler.each(&sources);
    let routing = objects.split_off(units.len()).pop().transpose().map_err(|refusal| refusal.to_string())?;
    for (unit, object) in units.iter().zip(objects) {
        match object {
            Ok(object) => {
                let routing = routing.clone().filter(|_| unit.makes_route);
                let objects: Vec<PathBuf> = [object].into_iter().chain(routing).collect();
                hpmoe_cxx::archive(&unit.artifact.symbol, &objects, folder)?;
            }
            Err(refusal) => {
                let fault = match &refusal {
                    Refusal::File { compiler, said, .. } => {
                        refused_operator::refused(unit, &unit.source, compiler, said)
                    }
                    Refusal::Compiler(_) => None,
                };
                let fault = fault.ok_or_else(|| refusal.to_string())?;
                files::write(&folder.join(unit.artifact.file("fault")), &fault.write())?;
            }
        }
    }
    Ok(())
}
