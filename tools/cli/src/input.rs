//! The kernels of a source file, with the constants that are set for them.

use crate::faults::{ShownFile, refusal};
use hpmoe_build::settings_of;
use hpmoe_core::analyze::CheckedGraph;
use hpmoe_core::artifacts::parse_settings;
use hpmoe_core::finding::Diagnostic;
use hpmoe_core::fixed_sizes::{BuiltKernel, Surface, costly_sizes};
use hpmoe_core::front::{Front, front, modules};
use hpmoe_core::sizes::{Expected, open_sizes};
use hpmoe_core::syntax::{Overrides, refuse_derived_overrides, refuse_unknown_overrides};
use hpmoe_core::target::Target;
use hpmoe_core::tuned::{NamedSizes, overrides};
use hpmoe_kernels::printable::printable_path;
use std::path::Path;
use syn::ItemMod;

/// A source file and the kernels in it.
pub(crate) struct SourceFile {
    pub(crate) name: String,
    pub(crate) text: String,
    pub(crate) kernels: Vec<KernelSource>,
}

/// A `#[megakernel]` module and the constants that are set for it.
pub(crate) struct KernelSource {
    pub(crate) module: ItemMod,
    pub(crate) set: Overrides,
    /// The values that a build chooses for the sizes that the kernel leaves open.
    pub(crate) open: NamedSizes,
    /// Numbers of ranks to make schedules for, besides those that divide the number of experts.
    pub(crate) ranks: Vec<u32>,
}

impl SourceFile {
    /// Reads a file. Each of the `settings` has the form `NAME=VALUE` and applies to every kernel that declares the constant. Open tile
    /// sizes are chosen for the target and the expected launches.
    pub(crate) fn read(
        file: &Path,
        settings: &[String],
        (target, expected): (&Target, Expected),
    ) -> Result<Self, String> {
        let mut source = Self::as_written(file, settings)?;
        source.choose(target, expected)?;
        Ok(source)
    }

    /// Like [`Self::read`], for the text of a file.
    pub(crate) fn parse(
        name: String,
        text: String,
        settings: &[String],
        (target, expected): (&Target, Expected),
    ) -> Result<Self, String> {
        let mut source = Self::parse_as_written(name, text, settings)?;
        source.choose(target, expected)?;
        Ok(source)
    }

    /// Reads a file without choosing open tile sizes.
    pub(crate) fn as_written(file: &Path, settings: &[String]) -> Result<Self, String> {
        let name = printable_path(file);
        let text = std::fs::read_to_string(file).map_err(|error| format!("can't read {name}: {error}"))?;
        Self::parse_as_written(name, text, settings)
    }

    /// Like [`Self::as_written`], for the text of a file.
    pub(crate) fn parse_as_written(name: String, text: String, settings: &[String]) -> Result<Self, String> {
        let settings = parse_settings(&settings.join(","))?;
        let modules = modules(&text).map_err(|error| {
            let start = error.span().start();
            format!("{name}:{}:{}: {error}", start.line, start.column + 1)
        })?;
        if modules.is_empty() {
            return Err(format!("{name} holds no `#[megakernel]` module"));
        }
        refuse_unknown_overrides(&settings, modules.iter())?;
        refuse_derived_overrides(&settings, modules.iter())?;
        let kernel = |module: ItemMod| KernelSource {
            set: settings_of(&module, &settings),
            module,
            open: NamedSizes::new(),
            ranks: Vec::new(),
        };
        Ok(Self { name, text, kernels: modules.into_iter().map(kernel).collect() })
    }

    fn choose(&mut self, target: &Target, expected: Expected) -> Result<(), String> {
        self.kernels.iter_mut().try_for_each(|kernel| kernel.choose(target, expected))
    }

    /// The checked taskflows of all kernels; if a kernel has faults, an error that shows them.
    pub(crate) fn flows(&self) -> Result<Vec<CheckedGraph>, String> {
        let mut flows = Vec::new();
        for kernel in &self.kernels {
            flows.extend(self.front(kernel)?.flows);
        }
        Ok(flows)
    }

    /// Runs the front end on a kernel. If the kernel has faults, returns an error that shows them.
    pub(crate) fn front(&self, kernel: &KernelSource) -> Result<Front, String> {
        kernel.front().map_err(|faults| {
            let (name, shown) = (kernel.module.ident.to_string(), ShownFile::new(&self.name, &self.text));
            refusal(&shown, (&name, &kernel.set), &faults)
        })
    }
}

impl KernelSource {
    /// Chooses the sizes that the kernel leaves open, as a build does.
    pub(crate) fn choose(&mut self, target: &Target, expected: Expected) -> Result<(), String> {
        self.open = open_sizes(&self.module, &self.set, target, expected)?;
        self.ranks = expected.ranks.into_iter().collect();
        Ok(())
    }

    /// A warning if fixed tile sizes make the kernel slower.
    pub(crate) fn warning(&self, target: &Target, expected: Expected) -> Option<String> {
        let Self { module, set, open, .. } = self;
        let front = self.front().ok()?;
        let costly = costly_sizes(BuiltKernel { module, set, open, front: &front }, target, expected)?;
        Some(costly.text(Surface::Command))
    }

    /// Runs the front end on the kernel. Returns all faults if there are any.
    pub(crate) fn front(&self) -> Result<Front, Vec<Diagnostic>> {
        front(&self.module, &overrides(&self.set, &self.open)).map(|front| front.for_ranks(&self.ranks))
    }
}
