//! Compiles generated C++ for the host: one library per kernel. If a kernel makes its own route, its library contains a
//! copy of the routing code that it needs.

use crate::units::Unit;
use crate::{files, refused_operator};
use hpmoe_cxx::{Compiler, Effort, Refusal, Settings, Source, in_parallel};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Compiles and archives all units into `folder`.
pub(crate) fn compile(units: &[Unit], folder: &Path) -> Result<(), String> {
    let (own, plain): (Vec<&Unit>, Vec<&Unit>) = units.iter().partition(|unit| unit.headers().is_some());
    // Inlining all of the device library, as devices want it, takes as long as everything else. Operators stay parts of their callers:
    // those of two kernels may have one name, and a linker would take either for both.
    compile_with(&[APART, ("HPMOE_INLINE", "inline")], &plain, folder)?;
    compile_with(&[APART], &own, folder)
}

/// The macro that keeps route code out of a kernel's object. Kernels that need the same parts of it share one object, which is not
/// recompiled if a kernel changes.
const APART: (&str, &str) = ("HPMOE_ROUTING_APART", "1");

/// The C++ file with the code that makes routes with these needs. If several kernels' libraries contain it, the linker takes any of the
/// copies.
fn routing(needs: &str) -> String {
    format!(
        "// What makes the routes of kernels that make their own, made by hpmoe. Do not edit.\n\
         #include \"hpmoe/routing/make.h\"\n\n\
         namespace hpmoe {{\n\n\
         template <uint32_t NEEDS> bool MakeRouteApart(VectorCore &core) {{ return MakeRoute<NEEDS>(core); }}\n\
         template bool MakeRouteApart<{needs}>(VectorCore &core);\n\n\
         }} // namespace hpmoe\n"
    )
}

/// The name of the file with the route code for these needs.
fn routing_file(needs: &str) -> String {
    format!("routing_{}.cpp", needs.to_lowercase().replace("needs_", "").replace(" | ", "_"))
}

fn compile_with(macros: &[(&str, &str)], units: &[&Unit], folder: &Path) -> Result<(), String> {
    if units.is_empty() {
        return Ok(());
    }
    let includes = [Path::new(hpmoe_kernels::INCLUDE_DIR), Path::new(hpmoe_kernels::HOST_DIR)];
    let settings = Settings { warnings: true, includes: &includes, macros, effort: Effort::of_kernels() };
    let compiler = Compiler::new(&settings, folder)?;
    let mut sources: Vec<Source<'_>> =
        units.iter().map(|unit| Source { file: &unit.source, headers: unit.headers() }).collect();
    let needs: BTreeSet<&str> = units.iter().filter_map(|unit| unit.route_needs.as_deref()).collect();
    let routing_files: Vec<PathBuf> = needs.iter().map(|needs| folder.join(routing_file(needs))).collect();
    for (needs, file) in needs.iter().zip(&routing_files) {
        files::write(file, &routing(needs))?;
        sources.push(Source { file, headers: None });
    }
    let mut objects = compiler.each(&sources);
    let routing = objects.split_off(units.len()).into_iter().collect::<Result<Vec<PathBuf>, Refusal>>();
    let routing: BTreeMap<&str, PathBuf> =
        needs.into_iter().zip(routing.map_err(|refusal| refusal.to_string())?).collect();
    let mut libraries: Vec<(&str, Vec<PathBuf>)> = Vec::new();
    for (unit, object) in units.iter().zip(objects) {
        match object {
            Ok(object) => {
                let routing = unit.route_needs.as_deref().and_then(|needs| routing.get(needs).cloned());
                libraries.push((&unit.artifact.symbol, [object].into_iter().chain(routing).collect()));
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
    // An archiver may take as long to start as a small kernel takes to compile, because it loads its plugins.
    let archived = in_parallel(&libraries, |(name, objects)| hpmoe_cxx::archive(name, objects, folder));
    archived.into_iter().collect()
}
