//! A layer, a routing and a target to simulate.

use crate::options::{GradientType, LayerArgs, Switch};
use crate::plan::{FlowPlan, Origin, Tuning, chosen, plans, scheduled_with, warn_of_costly_sizes};
use crate::routing::routed;
use hpmoe_core::analyze::CheckedGraph;
use hpmoe_core::cost::gradient_bytes;
use hpmoe_core::graph::TaskGraph;
use hpmoe_core::schedule::{Choices, Schedule};
use hpmoe_core::sizes::Expected;
use hpmoe_core::target::Target;
use hpmoe_core::validate::ValidSchedule;
use hpmoe_simulator::baseline::{Direction, LayerShape, Original, Replay, Serial};
use hpmoe_simulator::simulate::{Ours, Policy, Routing, Time, Workload, Written, simulate};

/// One layer on one target, for all policies.
pub(crate) struct Scenario {
    pub(crate) target: Target,
    pub(crate) direction: Direction,
    pub(crate) routing: Routing,
    pub(crate) ranks: u32,
    /// The most tokens that a rank brings.
    pub(crate) tokens: u32,
    /// Kernel and taskflow, for headings.
    pub(crate) name: String,
    /// Where the choices of `ours` come from.
    pub(crate) origin: Origin,
    /// The type of the baselines' weight gradients.
    gradients: Written,
    kernel: TaskGraph,
    ours: Option<(FlowPlan, ValidSchedule)>,
}

impl Scenario {
    pub(crate) fn read(options: &LayerArgs, policies: &[Policy]) -> Result<Self, String> {
        let mut target = options.target.read()?;
        if options.polling == Switch::Off {
            for key in ["poll_aic_us", "poll_aiv_us"] {
                target.set(&format!("original.{key}=0")).map_err(|fault| fault.to_string())?;
            }
        }
        let direction = Direction::from(options.direction);
        let given = options.choices.as_deref().map(Choices::read).transpose();
        let given = given.map_err(|problem| format!("--choices: {problem}"))?;
        let tuning = Tuning::unless(options.untuned || given.is_some());
        let expected = Expected { ranks: Some(options.ranks), tokens: None };
        let plans = plans(&options.file, &options.settings, (&target, expected), tuning)?;
        let first = plans.first().ok_or("the file has no taskflow")?.checked.graph().clone();
        let element = plans.iter().find_map(|plan| gradient_bytes(plan.checked.graph()));
        let element = element.filter(|_| options.gradients == GradientType::Same).unwrap_or(Written::BF16.element);
        let gradients = Written { element, adds: false };
        let ours = if policies.contains(&Policy::Ours) {
            let name = options.taskflow.as_deref().unwrap_or(direction.name());
            let others = "or --policy hyperparallel or serial";
            let mut plan = chosen(plans, Some(name)).map_err(|problem| format!("{problem}, {others}"))?;
            if let Some(choices) = given {
                (plan.choices, plan.origin) = (choices, Origin::Given);
            }
            let valid = plan.schedule(&target)?;
            warn_of_costly_sizes([&plan], options.allow_slow_tile_sizes, (&target, expected));
            Some((plan, valid))
        } else {
            None
        };
        let kernel = ours.as_ref().map_or(first, |(plan, _)| plan.checked.graph().clone());
        let origin = ours.as_ref().map_or(Origin::Default, |(plan, _)| plan.origin);
        let routing = routed(&options.routing, &kernel.sizes, options.ranks, options.placement.as_ref())?;
        let tokens = (0..options.ranks).map(|rank| routing.tokens(rank)).max().unwrap_or_default();
        let name = match &ours {
            Some(_) => format!("{}::{}", kernel.kernel, kernel.taskflow),
            None => kernel.kernel.clone(),
        };
        Ok(Self { target, direction, routing, ranks: options.ranks, tokens, name, origin, gradients, kernel, ours })
    }

    /// The checked graph of `ours`, where it is simulated.
    pub(crate) fn checked(&self) -> Option<&CheckedGraph> {
        self.ours.as_ref().map(|(plan, _)| &plan.checked)
    }

    /// The schedule of `ours`, where it is simulated.
    pub(crate) fn schedule(&self) -> Option<&Schedule> {
        self.ours.as_ref().map(|(_, valid)| valid.schedule())
    }

    /// What the schedule of `ours` is made with, where it is simulated.
    pub(crate) fn about_ours(&self) -> Option<String> {
        self.ours.as_ref().map(|(plan, _)| plan.about())
    }

    /// The tile sizes of `ours`, where it is simulated (JSON).
    pub(crate) fn tile_sizes(&self) -> Option<serde_json::Map<String, serde_json::Value>> {
        self.ours.as_ref().map(|(plan, _)| plan.tile_sizes())
    }

    /// The layer that the baselines run, with the kernel's constants `HIDDEN` and `INTER`.
    pub(crate) fn shape(&self) -> Result<LayerShape, String> {
        let constant = |name: &str| {
            let declared = self.kernel.constants.iter().find(|(constant, _)| constant == name);
            let value = declared.and_then(|(_, value)| u32::try_from(value.size()?).ok());
            value.ok_or_else(|| {
                format!(
                    "kernel `{}` has no constant {name}: hyperparallel and serial run the layer of HIDDEN and INTER; \
                     --policy ours runs without",
                    self.kernel.kernel
                )
            })
        };
        Ok(LayerShape {
            ranks: self.ranks,
            tokens: self.tokens,
            experts: self.routing.experts(),
            top_k: self.routing.top_k(),
            hidden: constant("HIDDEN")?,
            intermediate: constant("INTER")?,
        })
    }

    /// The reasons why the original would refuse this layer.
    pub(crate) fn limits(&self) -> Result<Vec<String>, String> {
        let limits = Original::new(self.shape()?, self.direction).limits();
        Ok(limits.iter().map(ToString::to_string).collect())
    }

    /// The simulated latency of `ours` with some choices changed, written `key=value`, with or without the work that the original
    /// leaves to other kernels.
    pub(crate) fn ours_with(&self, changes: &str, with_extras: bool) -> Result<Time, String> {
        let (plan, _) = self.ours.as_ref().ok_or("--ablate is about ours: leave out --policy, or choose ours")?;
        let mut choices = plan.choices.clone();
        for (key, value) in changes.split_whitespace().filter_map(|change| change.split_once('=')) {
            choices.set(key, value)?;
        }
        let valid = scheduled_with(&plan.checked, &self.target, &choices)?;
        let ours = Ours::new(&self.target, &plan.checked, valid.schedule(), &self.routing);
        let ours = ours.map_err(|unfit| unfit.to_string())?;
        let ours = if with_extras { ours } else { ours.without_extras() };
        simulate(&self.target, &ours, false).map(|run| run.time).map_err(|stuck| stuck.to_string())
    }

    /// Whether the kernel of `ours` makes its route itself.
    pub(crate) fn makes_route(&self) -> bool {
        self.ours.as_ref().is_some_and(|(plan, _)| plan.checked.graph().route.is_some())
    }

    /// The workload of a policy; `ours` with or without the work that the original leaves to other kernels.
    pub(crate) fn workload(&self, policy: Policy, with_extras: bool) -> Result<Box<dyn Workload + '_>, String> {
        let routing = || self.routing.clone();
        Ok(match (policy, &self.ours) {
            (Policy::Ours, Some((plan, valid))) => {
                let ours = Ours::new(&self.target, &plan.checked, valid.schedule(), &self.routing);
                let ours = ours.map_err(|unfit| unfit.to_string())?;
                Box::new(if with_extras { ours } else { ours.without_extras() })
            }
            (Policy::Ours, None) => return Err("the kernel was not scheduled".to_owned()),
            (Policy::Hyperparallel, _) => {
                let replay = Replay::new(Original::new(self.shape()?, self.direction), routing(), &self.target);
                Box::new(replay.with_gradients(self.gradients))
            }
            (Policy::Serial, _) => {
                let serial = Serial::new(self.shape()?, self.direction, routing(), &self.target);
                Box::new(serial.with_gradients(self.gradients))
            }
        })
    }
}
