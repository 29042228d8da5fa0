//! The build of one kernel module.

use crate::expansions::ModuleToTell;
use crate::files;
use crate::operators::OperatorFiles;
use crate::sources::KernelModule;
use crate::tile_sizes::TileSizes;
use crate::tuned::{Kept, kept_for, tuned_file, with_tuned};
use crate::units::{Built, DeviceBuild, Unit};
use hpmoe_core::artifacts::{Artifact, Resolved};
use hpmoe_core::compile::back;
use hpmoe_core::expansion::{TaskflowToTell, of_faults, of_front};
use hpmoe_core::fixed_sizes::{BuiltKernel, Surface, costly_sizes};
use hpmoe_core::front::front;
use hpmoe_core::program::{DEVICE_SOURCE, Program};
use hpmoe_core::sizes::{Expected, open_sizes};
use hpmoe_core::syntax::{Constant, Overrides, declared_constants};
use hpmoe_core::target::Target;
use hpmoe_core::tuned::{self, Candidate, NamedSizes};
use hpmoe_core::unused::{Unused, unused};
use hpmoe_expansion::expansion;
use hpmoe_expansion::tokens::SourceTokens;
use std::path::{Path, PathBuf};
use syn::ItemMod;

/// The settings that apply to a kernel: those of constants that the kernel declares, and of `SPARE` and `CHUNKS_AT_MOST`. A setting for one
/// kernel (`rms::HIDDEN`) wins over the setting of that constant for all kernels (`HIDDEN`).
#[must_use]
pub fn settings_of(module: &ItemMod, settings: &Overrides) -> Overrides {
    let (declared, kernel) = (declared_constants(module), module.ident.to_string());
    let of_kernel = |name: &str| name.split_once("::").filter(|(of, _)| *of == kernel).map(|(_, name)| name.to_owned());
    let of_all = settings.clone().into_iter().filter(|(name, _)| declared.contains(name));
    let mut own: Overrides = of_all.collect();
    for (name, value) in settings.clone() {
        if let Some(name) = of_kernel(&name).filter(|name| declared.contains(name)) {
            own.insert(name, value);
        }
    }
    own
}

/// The settings that all modules of a build share.
pub(crate) struct Build {
    /// Constants that the build sets in all kernels that declare them.
    pub(crate) settings: Overrides,
    pub(crate) target: Target,
    /// The launches that open tile sizes are chosen for.
    pub(crate) expected: Expected,
    /// Numbers of ranks that schedules are made for, besides those that divide the experts.
    pub(crate) ranks: Vec<u32>,
    /// Options that make `hpmoe tune` tune for the same machine, each with a space before it.
    pub(crate) tune: String,
    /// The device that kernels are compiled for in addition to this machine's CPU; `None` if there is none.
    pub(crate) device: Option<DeviceBuild>,
    /// Whether kernels keep time stamps of their tiles.
    pub(crate) time_stamps: bool,
    /// Whether fixed tile sizes may cost time without a warning.
    pub(crate) allow_slow_tile_sizes: bool,
    pub(crate) package: String,
    pub(crate) folder: PathBuf,
    /// The folder of the package, from which files are named.
    pub(crate) root: PathBuf,
}

impl Build {
    /// Writes the files that the macro and the compiler need for one module. Returns the C++ to compile.
    pub(crate) fn module(&self, source: &KernelModule) -> Result<Built, String> {
        let name = source.module.ident.to_string();
        let set = settings_of(&source.module, &self.settings);
        let open = open_sizes(&source.module, &set, &self.target, self.expected)?;
        let candidate = self.tuned_for(source, (&set, &open)).unwrap_or_default();
        // The build's own settings win.
        let overrides = tuned::overrides(&set, &with_tuned(&open, &candidate.sizes));
        let target = self.target.fingerprint().hex();
        let texts = candidate.choices.iter().map(|(flow, choices)| (flow.clone(), choices.to_string())).collect();
        let front = front(&source.module, &overrides).map(|front| front.for_ranks(&self.ranks));
        let operators = OperatorFiles::read(front.as_ref().map_or(&[], |front| &front.flows), &self.root);
        let externals = operators.fingerprints();
        let resolved = Resolved { target, choices: texts, externals, time_stamps: self.time_stamps };
        files::write(&self.folder.join(expansion::latest_file(&source.module)), &source.file)?;
        let front = match front {
            Ok(front) => front,
            Err(faults) => {
                let modules = vec![ModuleToTell::new(&source.module, of_faults(&source.module, &faults))];
                return Ok(Built { faulty: vec![name], modules, ..Built::default() });
            }
        };
        let sizes = TileSizes { set: &set, tuned: &candidate.sizes, open: &open, expected: self.expected };
        let sizes = sizes.text(&front.kernel);
        let mut to_tell = ModuleToTell::new(&source.module, of_front(&source.module, &front, &overrides));
        let tokens = SourceTokens::new(&source.module);
        let constants: Vec<(String, Constant)> =
            front.kernel.constants.iter().map(|(name, value)| (name.to_owned(), value)).collect();
        let mut built = Built::default();
        for checked in &front.flows {
            let graph = checked.graph();
            let fingerprint = resolved.fingerprint_of(front.fingerprint, graph);
            let choices = candidate.choices_of(&graph.taskflow);
            let artifact = Artifact::new(&self.package, &graph.kernel, &graph.taskflow, fingerprint);
            to_tell.taskflows.push(TaskflowToTell::new(graph, &artifact, &tokens));
            let made = operators.of_flow(graph).and_then(|operators| {
                let choices = (&self.target, &choices);
                let mut program =
                    back(checked, choices, &source.file, &artifact, &fingerprint.hex(), self.time_stamps)?;
                program.add_tile_sizes(&artifact, sizes.clone());
                Ok((operators, program))
            });
            match made {
                Ok((operators, program)) => {
                    let warnings = program.warnings.iter();
                    built.warnings.extend(
                        warnings.map(|text| format!("taskflow `{}::{}`: {text}", graph.kernel, graph.taskflow)),
                    );
                    self.write(&program)?;
                    built.units.push(Unit {
                        source: self.folder.join(artifact.file("cpp")),
                        device_source: self.device_source(&program, &artifact),
                        route_needs: program.route_needs.clone(),
                        operators,
                        package: self.root.clone(),
                        artifact,
                        kernel: name.clone(),
                        constants: constants.clone(),
                        file: source.file.clone(),
                        device: self.device.clone(),
                    });
                }
                Err(fault) => {
                    files::write(&self.folder.join(artifact.file("fault")), &fault.write())?;
                    built.faulty.push(name.clone());
                }
            }
        }
        built.modules.push(to_tell);
        if built.faulty.is_empty() {
            let kernel = BuiltKernel { module: &source.module, set: &set, open: &open, front: &front };
            built.warnings.extend(self.costly_sizes(kernel, &candidate));
            built.warnings.extend(unused(&front).into_iter().map(|unused| {
                let (line, Unused { message, help, .. }) = (unused.at.start().line, &unused);
                format!("{}:{line}: kernel `{name}`: {message}: {help}", source.file)
            }));
        }
        Ok(built)
    }

    /// The tuned schedule for a kernel with these constants. The build prints a note if it falls back to the default
    /// schedule, and if tuning replaces constants of the source.
    fn tuned_for(&self, source: &KernelModule, given: (&Overrides, &NamedSizes)) -> Option<Candidate> {
        // The macro shows the faults of a kernel that has some.
        let kept = kept_for(source.tuned.as_ref()?, &source.module, given, &self.target)?;
        let kernel = &source.module.ident;
        let file = tuned_file(Path::new(&source.file));
        let file = file.display();
        if let Kept::Fits(build) = kept {
            if !build.replaced.is_empty() {
                println!(
                    "cargo::warning=kernel `{kernel}` is built with {}, as `{file}` says; if the build sets other values, it uses \
                     them and the default schedule",
                    build.replaced_text()
                );
            }
            return Some(build.candidate);
        }
        let set: Vec<String> = given.0.iter().map(|(name, value)| format!("{kernel}::{name}={value}")).collect();
        let set = if set.is_empty() { String::new() } else { format!(" --set {}", set.join(",")) };
        println!(
            "cargo::warning=kernel `{kernel}` is built with the default schedule: `{file}` {} on {} (`hpmoe tune {}{}{set}` \
             finds one)",
            kept.default_because().unwrap_or_default(),
            self.target.name,
            source.file,
            self.tune
        );
        None
    }

    /// A warning about fixed tile sizes that cost time. Tuned sizes get no warning, because the simulator has already
    /// compared them with others.
    fn costly_sizes(&self, kernel: BuiltKernel<'_>, tuned: &Candidate) -> Option<String> {
        if self.allow_slow_tile_sizes || *tuned != Candidate::default() {
            return None;
        }
        Some(costly_sizes(kernel, &self.target, self.expected)?.text(Surface::Build))
    }

    fn device_source(&self, program: &Program, artifact: &Artifact) -> PathBuf {
        let own = artifact.file(DEVICE_SOURCE);
        let differs = program.files.iter().any(|file| file.name == own);
        self.folder.join(if differs { own } else { artifact.file("cpp") })
    }

    fn write(&self, program: &Program) -> Result<(), String> {
        program.files.iter().try_for_each(|file| files::write_bytes(&self.folder.join(&file.name), &file.bytes))
    }
}
