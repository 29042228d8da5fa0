//! Taskflows and their schedules, as a build for the same target makes them.

use crate::input::{KernelSource, SourceFile};
use crate::output;
use hpmoe_build::{Kept, kept_for, read_tuned, tuned_file, with_tuned};
use hpmoe_core::analyze::CheckedGraph;
use hpmoe_core::compile;
use hpmoe_core::front::front;
use hpmoe_core::graph::TaskGraph;
use hpmoe_core::schedule::Choices;
use hpmoe_core::sizes::Expected;
use hpmoe_core::target::Target;
use hpmoe_core::tuned::{NamedSizes, Tuned, is_tile_size, overrides};
use hpmoe_core::validate::ValidSchedule;
use hpmoe_kernels::printable::printable_path;
use std::path::Path;
use std::rc::Rc;

/// A taskflow, and the choices for its schedule.
pub(crate) struct FlowPlan {
    pub(crate) checked: CheckedGraph,
    pub(crate) choices: Choices,
    pub(crate) origin: Origin,
    /// The constants that a tuned schedule replaces, as a printable list; empty if there are none.
    pub(crate) replaced: String,
    /// The sizes that are chosen for open ones, as a printable list; empty if there are none.
    pub(crate) chosen: String,
    /// The kernel that contains the taskflow.
    kernel: Rc<KernelSource>,
}

/// The origin of a schedule's choices.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Origin {
    /// Default choices of the scheduler.
    Default,
    /// Choices from the file of tuned schedules next to the source.
    Tuned,
    /// Choices from the command line.
    Given,
}

/// Whether to look for a file of tuned schedules.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Tuning {
    /// Uses the schedules in the file, as a build does.
    Taken,
    /// Ignores the file.
    Ignored,
}

impl Origin {
    /// The name that is used in JSON.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Tuned => "tuned",
            Self::Given => "given",
        }
    }
}

impl Tuning {
    /// Says what to do with the file, depending on `--untuned`.
    pub(crate) const fn unless(untuned: bool) -> Self {
        if untuned { Self::Ignored } else { Self::Taken }
    }
}

impl FlowPlan {
    fn default(checked: CheckedGraph, kernel: &Rc<KernelSource>) -> Self {
        Self {
            checked,
            choices: Choices::default(),
            origin: Origin::Default,
            replaced: String::new(),
            chosen: list(&kernel.open),
            kernel: Rc::clone(kernel),
        }
    }

    /// The validated schedule.
    pub(crate) fn schedule(&self, target: &Target) -> Result<ValidSchedule, String> {
        compile::scheduled(&self.checked, target, &self.choices)
    }

    /// A description of the schedule's inputs.
    pub(crate) fn about(&self) -> String {
        let choices = match self.origin {
            Origin::Default => "default schedule".to_owned(),
            Origin::Tuned => "tuned schedule".to_owned(),
            Origin::Given => "given choices".to_owned(),
        };
        let mut text = choices;
        if !self.replaced.is_empty() {
            text.push_str(&format!(", with {}", self.replaced));
        }
        if !self.chosen.is_empty() {
            text.push_str(&format!(", left open: {}", self.chosen));
        }
        text
    }

    pub(crate) fn graph(&self) -> &TaskGraph {
        self.checked.graph()
    }

    /// The tile sizes of the taskflow, by name (JSON).
    pub(crate) fn tile_sizes(&self) -> serde_json::Map<String, serde_json::Value> {
        let constants = self.graph().constants.iter().filter(|(name, _)| is_tile_size(name));
        constants.filter_map(|(name, value)| Some((name.clone(), value.size()?.into()))).collect()
    }

    /// The name of kernel and taskflow: `moe_ffn::forward`.
    pub(crate) fn full_name(&self) -> String {
        format!("{}::{}", self.graph().kernel, self.graph().taskflow)
    }
}

/// The taskflows of a file, with open tile sizes chosen for a target and the expected launches.
pub(crate) fn plans(
    file: &Path,
    settings: &[String],
    (target, expected): (&Target, Expected),
    tuning: Tuning,
) -> Result<Vec<FlowPlan>, String> {
    let mut input = SourceFile::read(file, settings, (target, expected))?;
    let tuned = if tuning == Tuning::Taken { read_tuned(&tuned_file(file))? } else { None };
    let (mut plans, mut refused) = (Vec::new(), Vec::new());
    for kernel in std::mem::take(&mut input.kernels) {
        let kernel = Rc::new(kernel);
        let flows = match input.front(&kernel) {
            Ok(front) => front.flows,
            Err(faults) => {
                refused.push(faults);
                continue;
            }
        };
        let tuned = tuned.as_ref().and_then(|tuned| tuned_plans(&kernel, (tuned, file), target));
        let default = |checked| FlowPlan::default(checked, &kernel);
        plans.extend(tuned.unwrap_or_else(|| flows.into_iter().map(default).collect()));
    }
    // The faults of all kernels, as `hpmoe check` reports them.
    if refused.is_empty() { Ok(plans) } else { Err(refused.join("\n\nerror: ")) }
}

/// Writes a warning for each kernel that fixed tile sizes make slower, unless slow sizes are allowed. Tuned sizes are not checked, because
/// the search has compared them in the simulator, which is more exact.
pub(crate) fn warn_of_costly_sizes<'a>(
    plans: impl IntoIterator<Item = &'a FlowPlan>,
    allowed: bool,
    (target, expected): (&Target, Expected),
) {
    let mut seen: Vec<&Rc<KernelSource>> = Vec::new();
    for plan in plans.into_iter().filter(|plan| !allowed && plan.origin != Origin::Tuned) {
        if seen.iter().any(|seen| Rc::ptr_eq(seen, &plan.kernel)) {
            continue;
        }
        seen.push(&plan.kernel);
        if let Some(warning) = plan.kernel.warning(target, expected) {
            output::note(format!("warning: {warning}"));
        }
    }
}

/// The taskflows of a kernel with its stored schedule. If no stored schedule fits, warns with the reason, and returns `None`.
fn tuned_plans(kernel: &Rc<KernelSource>, (tuned, file): (&Tuned, &Path), target: &Target) -> Option<Vec<FlowPlan>> {
    let KernelSource { module, set, open, ranks } = &**kernel;
    let kept = kept_for(tuned, module, (set, open), target)?;
    // A file for other constants is nothing unusual, since constants are set for a single command.
    if let Some(reason) = kept.default_because().filter(|_| kept != Kept::Nothing) {
        let file = printable_path(&tuned_file(file));
        output::note(format!(
            "warning: kernel `{}` has the default schedule: `{file}` {reason} on {} (`hpmoe tune` with the same kernel, constants and \
             target finds one)",
            module.ident, target.name
        ));
    }
    let Kept::Fits(build) = kept else { return None };
    let sizes = &build.candidate.sizes;
    let sized = front(module, &overrides(set, &with_tuned(open, sizes))).ok()?.for_ranks(ranks);
    let still_open = open.iter().filter(|(name, _)| !sizes.contains_key(*name));
    let chosen = list(&still_open.map(|(name, &size)| (name.clone(), size)).collect());
    let plan = |checked: CheckedGraph| FlowPlan {
        choices: build.candidate.choices_of(&checked.graph().taskflow),
        checked,
        origin: Origin::Tuned,
        replaced: build.replaced_text(),
        chosen: chosen.clone(),
        kernel: Rc::clone(kernel),
    };
    Some(sized.flows.into_iter().map(plan).collect())
}

/// Sizes as a printable list.
fn list(sizes: &NamedSizes) -> String {
    sizes.iter().map(|(name, size)| format!("{name} = {size}")).collect::<Vec<_>>().join(", ")
}

/// The taskflow with the given name, which is NAME or KERNEL::NAME. Without a name, the only taskflow.
pub(crate) fn chosen(plans: Vec<FlowPlan>, name: Option<&str>) -> Result<FlowPlan, String> {
    let matches = |plan: &FlowPlan| name.is_none_or(|name| plan.graph().taskflow == name || plan.full_name() == name);
    let names = plans.iter().map(FlowPlan::full_name).collect::<Vec<_>>().join(", ");
    let mut matching = plans.into_iter().filter(matches);
    match (matching.next(), matching.next(), name) {
        (Some(plan), None, _) => Ok(plan),
        (Some(_), Some(_), Some(name)) => {
            Err(format!("several taskflows are called `{name}`: choose --taskflow among {names}"))
        }
        (Some(_), Some(_), None) => Err(format!("there are several taskflows: choose --taskflow among {names}")),
        (None, _, Some(name)) => Err(format!("there is no taskflow `{name}`: choose --taskflow among {names}")),
        (None, _, None) => Err("the file has no taskflow".to_owned()),
    }
}

/// A validated schedule with the default choices.
pub(crate) fn scheduled(checked: &CheckedGraph, target: &Target) -> Result<ValidSchedule, String> {
    compile::scheduled(checked, target, &Choices::default())
}
