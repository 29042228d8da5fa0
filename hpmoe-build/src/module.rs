//! What a build makes of one kernel module.

use crate::{Source, cxx, files, tuned_file};
use hpmoe_codegen::compile::back;
use hpmoe_codegen::program::Program;
use hpmoe_codegen::target::Target;
use hpmoe_codegen::tuned::{self, Candidate, shape};
use hpmoe_language::artifacts::{self, Artifact, Resolved};
use hpmoe_language::fingerprint::{of_flow, of_module};
use hpmoe_language::front::{Front, front};
use hpmoe_language::syntax::{Overrides, declared_constants};
use std::path::{Path, PathBuf};

/// One build, as all of its modules see it.
pub(crate) struct Build {
    /// Constants that are set, for whichever kernels declare them.
    pub(crate) settings: Overrides,
    pub(crate) target: Target,
    /// What `hpmoe tune` is told to tune for the same machine, each with a space before it.
    pub(crate) tune: String,
    pub(crate) package: String,
    pub(crate) folder: PathBuf,
}

impl Build {
    /// Writes what the macro and the compiler need for one module; returns the C++ to compile.
    pub(crate) fn module(&self, source: &Source) -> Result<Vec<cxx::Unit>, String> {
        let name = source.module.ident.to_string();
        let hash = of_module(&source.module);
        let own: Vec<String> = declared_constants(&source.module);
        let set = self.settings.iter().filter(|(name, _)| own.contains(name));
        let overrides: Overrides = set.map(|(name, value)| (name.clone(), *value)).collect();
        let candidate = self.tuned_for(source, &overrides).unwrap_or_default();
        // What is set for this build wins.
        let overrides = tuned::overrides(&overrides, &candidate.sizes);
        let target = self.target.fingerprint().hex();
        let texts = candidate.choices.iter().map(|(flow, choices)| (flow.clone(), choices.to_string())).collect();
        let resolved = Resolved { source: source.file.clone(), target, overrides, choices: texts };
        files::write(&self.folder.join(artifacts::resolved_file(&name, hash)), &resolved.write())?;
        files::write(&self.folder.join(format!("{name}.built")), &source.file)?;
        // The macro runs the same front end and shows its faults at their places.
        let Ok(Front { flows, .. }) = front(&source.module, &resolved.overrides) else { return Ok(Vec::new()) };
        let mut units = Vec::new();
        for checked in &flows {
            let graph = checked.graph();
            let fingerprint = of_flow(hash, graph, &resolved.target, resolved.choices_of(&graph.taskflow));
            let choices = candidate.of(&graph.taskflow);
            let artifact = Artifact::new(&self.package, &graph.kernel, &graph.taskflow, fingerprint);
            match back(checked, (&self.target, &choices), &source.file, &artifact, &fingerprint.hex()) {
                Ok(program) => {
                    for warning in &program.warnings {
                        println!("cargo::warning=taskflow `{}::{}`: {warning}", graph.kernel, graph.taskflow);
                    }
                    units.push(self.write(&artifact, &program)?);
                }
                Err(fault) => files::write(&self.folder.join(format!("{}.fault", artifact.stem)), &fault)?,
            }
        }
        Ok(units)
    }

    /// What tuning has found for a kernel with these constants; a kernel that nobody tuned for them gets a note.
    fn tuned_for(&self, source: &Source, overrides: &Overrides) -> Option<Candidate> {
        let (tuned, module, target) = (source.tuned.as_ref()?, &source.module, &self.target);
        // Faults are shown by the macro.
        let Front { kernel, .. } = front(module, overrides).ok()?;
        let found = tuned.find(&kernel.name, &shape(module, &kernel), (&target.name, target.cores.aic));
        let candidate = found.map(|found| found.candidate.clone());
        let fits = |candidate: &Candidate| {
            let own = declared_constants(module);
            candidate.sizes.keys().all(|name| own.contains(name))
                && front(module, &tuned::overrides(overrides, &candidate.sizes)).is_ok()
        };
        let missing = match &candidate {
            None => "has no schedule for these constants",
            Some(candidate) if !fits(candidate) => "has sizes that the kernel can't have any more",
            Some(_) => return candidate,
        };
        println!(
            "cargo::warning=kernel `{}` is built with the default schedule: `{}` {missing} on {} (`hpmoe tune {}{}` finds \
             one)",
            kernel.name,
            tuned_file(Path::new(&source.file)).display(),
            target.name,
            source.file,
            self.tune
        );
        None
    }

    fn write(&self, artifact: &Artifact, program: &Program) -> Result<cxx::Unit, String> {
        for file in &program.files {
            files::write_bytes(&self.folder.join(&file.name), &file.bytes)?;
        }
        let source = self.folder.join(format!("{}.cpp", artifact.stem));
        Ok(cxx::Unit { symbol: artifact.symbol.clone(), source })
    }
}
