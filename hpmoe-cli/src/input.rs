//! Kernels of a file, as the compiler sees them.

use crate::options::Source;
use hpmoe_codegen::schedule::{Choices, schedule_with};
use hpmoe_codegen::target::Target;
use hpmoe_codegen::validate::{ValidSchedule, validate};
use hpmoe_language::analyze::CheckedGraph;
use hpmoe_language::artifacts::parse_settings;
use hpmoe_language::finding::Diagnostic;
use hpmoe_language::front::{front, modules};
use hpmoe_language::graph::TaskGraph;
use hpmoe_language::syntax::{Overrides, declared_constants, refuse_unknown_overrides};
use std::path::Path;

/// A file and what the front end makes of each of its kernels.
pub(crate) struct Input {
    pub(crate) name: String,
    pub(crate) text: String,
    pub(crate) kernels: Vec<(String, Checked)>,
}

/// The taskflows of a kernel, or all that is wrong with it.
pub(crate) type Checked = Result<Vec<CheckedGraph>, Vec<Diagnostic>>;

impl Input {
    pub(crate) fn read(source: &Source) -> Result<Self, String> {
        Self::of(&source.file, &source.settings)
    }

    /// A file with constants set.
    pub(crate) fn of(file: &Path, settings: &[String]) -> Result<Self, String> {
        let name = file.display().to_string();
        let text = std::fs::read_to_string(file).map_err(|error| format!("can't read {name}: {error}"))?;
        Self::parse(name, text, settings)
    }

    /// A text with constants set.
    pub(crate) fn parse(name: String, text: String, settings: &[String]) -> Result<Self, String> {
        let settings = parse_settings(&settings.join(","))?;
        let modules = modules(&text).map_err(|error| {
            let start = error.span().start();
            format!("{name}:{}:{}: {error}", start.line, start.column + 1)
        })?;
        if modules.is_empty() {
            return Err(format!("{name} holds no `#[megakernel]` module"));
        }
        let declared: Vec<String> = modules.iter().flat_map(declared_constants).collect();
        refuse_unknown_overrides(&settings, declared.iter().map(String::as_str))?;
        let kernels = modules
            .iter()
            .map(|module| {
                let own = declared_constants(module);
                let overrides: Overrides =
                    settings.iter().filter(|(name, _)| own.contains(name)).map(|(n, v)| (n.clone(), *v)).collect();
                (module.ident.to_string(), front(module, &overrides).map(|front| front.flows))
            })
            .collect();
        Ok(Self { name, text, kernels })
    }

    /// The checked taskflows, or a pointer to `check`.
    pub(crate) fn flows(self) -> Result<Vec<CheckedGraph>, String> {
        let mut flows = Vec::new();
        for (kernel, checked) in self.kernels {
            match checked {
                Ok(checked) => flows.extend(checked),
                Err(faults) => {
                    return Err(format!(
                        "kernel `{kernel}` has {} faults: `hpmoe check {}` shows them",
                        faults.len(),
                        self.name
                    ));
                }
            }
        }
        Ok(flows)
    }
}

/// The taskflow of that name, as NAME or KERNEL::NAME; without a name, the only one.
pub(crate) fn chosen<T>(flows: Vec<T>, graph: impl Fn(&T) -> &TaskGraph, name: Option<&str>) -> Result<T, String> {
    let full = |flow: &T| format!("{}::{}", graph(flow).kernel, graph(flow).taskflow);
    let is = |flow: &T| name.is_none_or(|name| graph(flow).taskflow == name || full(flow) == name);
    let names = flows.iter().map(full).collect::<Vec<_>>().join(", ");
    let mut found = flows.into_iter().filter(is);
    match (found.next(), found.next(), name) {
        (Some(flow), None, _) => Ok(flow),
        (Some(_), Some(_), Some(name)) => {
            Err(format!("several taskflows are called `{name}`: choose --taskflow among {names}"))
        }
        (Some(_), Some(_), None) => Err(format!("there are several taskflows: choose --taskflow among {names}")),
        (None, _, Some(name)) => Err(format!("there is no taskflow `{name}`: choose --taskflow among {names}")),
        (None, _, None) => Err("the file has no taskflow".to_owned()),
    }
}

/// A validated schedule for a taskflow.
pub(crate) fn scheduled(checked: &CheckedGraph, target: &Target) -> Result<ValidSchedule, String> {
    scheduled_with(checked, target, &Choices::default())
}

/// The same with choices.
pub(crate) fn scheduled_with(
    checked: &CheckedGraph,
    target: &Target,
    choices: &Choices,
) -> Result<ValidSchedule, String> {
    validate(checked, schedule_with(checked, target, choices)).map_err(|violations| {
        let lines: Vec<String> = violations.iter().map(|violation| violation.text(checked)).collect();
        format!("the schedule fails its validation, which is a fault of hpmoe:\n  {}", lines.join("\n  "))
    })
}
