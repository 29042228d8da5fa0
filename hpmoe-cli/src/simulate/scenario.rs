//! What is simulated: a layer, a routing and a target.

use crate::input::{chosen, scheduled_with};
use crate::options::{Direction, Policy, Simulate, Switch};
use crate::plan::plans;
use crate::routing::{Sizes, routing};
use hpmoe_codegen::schedule::Choices;
use hpmoe_codegen::target::Target;
use hpmoe_codegen::validate::ValidSchedule;
use hpmoe_language::analyze::CheckedGraph;
use hpmoe_language::graph::TaskGraph;
use hpmoe_simulator::baseline::{self, LayerShape, Original, Replay, Serial};
use hpmoe_simulator::simulate::{Ours, Program, Routing};

/// One layer on one target, for all policies.
pub(crate) struct Scenario {
    pub(crate) target: Target,
    pub(crate) direction: baseline::Direction,
    pub(crate) routing: Routing,
    pub(crate) ranks: u32,
    /// Most tokens that a rank brings.
    pub(crate) tokens: u32,
    /// Kernel and taskflow, for headings.
    pub(crate) name: String,
    /// The schedule of `ours`: `default`, `tuned` for this shape and target, or with `given` choices.
    pub(crate) schedule: &'static str,
    kernel: TaskGraph,
    ours: Option<(CheckedGraph, ValidSchedule)>,
}

impl Scenario {
    pub(crate) fn read(options: &Simulate, policies: &[Policy]) -> Result<Self, String> {
        let mut target = options.target.read()?;
        if options.polling == Switch::Off {
            for key in ["poll_aic_us", "poll_aiv_us"] {
                target.set(&format!("original.{key}=0")).map_err(|fault| fault.to_string())?;
            }
        }
        let direction = match options.direction {
            Direction::Forward => baseline::Direction::Forward,
            Direction::Backward => baseline::Direction::Backward,
        };
        let given = options.choices.as_deref().map(Choices::read).transpose();
        let given = given.map_err(|problem| format!("--choices: {problem}"))?;
        let plans = plans(&options.file, &options.settings, &target, !options.untuned && given.is_none())?;
        let first = plans.first().ok_or("the file has no taskflow")?.checked.graph().clone();
        let mut schedule = "default";
        let ours = if policies.contains(&Policy::Ours) {
            let name = options.taskflow.as_deref().unwrap_or(direction.name());
            let others = "or --policy hyperparallel or serial";
            let plan = chosen(plans, |plan| plan.checked.graph(), Some(name))
                .map_err(|problem| format!("{problem}, {others}"))?;
            schedule = match (&given, plan.tuned) {
                (Some(_), _) => "given",
                (None, true) => "tuned",
                (None, false) => "default",
            };
            let valid = scheduled_with(&plan.checked, &target, given.as_ref().unwrap_or(&plan.choices))?;
            Some((plan.checked, valid))
        } else {
            None
        };
        let kernel = ours.as_ref().map_or(first, |(checked, _)| checked.graph().clone());
        let small = |size: usize| u32::try_from(size).map_err(|_| format!("{size} is too much to simulate"));
        let sizes = Sizes {
            ranks: options.ranks,
            experts: small(kernel.sizes.experts)?,
            top_k: small(kernel.sizes.top_k)?,
            tokens: small(kernel.sizes.tokens)?,
        };
        let routing = routing(&options.routing, sizes)?;
        let tokens = (0..sizes.ranks).map(|rank| routing.tokens(rank)).max().unwrap_or_default();
        let name = match &ours {
            Some(_) => format!("{}::{}", kernel.kernel, kernel.taskflow),
            None => kernel.kernel.clone(),
        };
        Ok(Self { target, direction, routing, ranks: sizes.ranks, tokens, name, schedule, kernel, ours })
    }

    /// The layer as the baselines know it, from the constants `HIDDEN` and `INTER`.
    pub(crate) fn shape(&self) -> Result<LayerShape, String> {
        let constant = |name: &str| {
            let found = self.kernel.constants.iter().find(|(constant, _)| constant == name);
            let value = found.and_then(|(_, value)| u32::try_from(value.size()?).ok());
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

    /// What the original would refuse of this layer.
    pub(crate) fn limits(&self) -> Result<Vec<String>, String> {
        let limits = Original::new(self.shape()?, self.direction).limits();
        Ok(limits.iter().map(ToString::to_string).collect())
    }

    /// What a policy runs; `ours` with what the original leaves out or without.
    pub(crate) fn program(&self, policy: Policy, with_extras: bool) -> Result<Box<dyn Program + '_>, String> {
        let routing = || self.routing.clone();
        Ok(match (policy, &self.ours) {
            (Policy::Ours, Some((checked, valid))) => {
                let ours = Ours::new(&self.target, checked, valid.schedule(), &self.routing);
                let ours = ours.map_err(|unfit| unfit.to_string())?;
                Box::new(if with_extras { ours } else { ours.without_extras() })
            }
            (Policy::Ours, None) => return Err("the kernel was not scheduled".to_owned()),
            (Policy::Hyperparallel, _) => {
                Box::new(Replay::new(Original::new(self.shape()?, self.direction), routing(), &self.target))
            }
            (Policy::Serial, _) => Box::new(Serial::new(self.shape()?, self.direction, routing(), &self.target)),
        })
    }
}
