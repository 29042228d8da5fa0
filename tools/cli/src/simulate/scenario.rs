//! A layer, a routing and a target to simulate.

use super::copies::Copies;
use super::direction::Choice;
use crate::options::{GradientType, LayerArgs, Switch};
use crate::placements;
use crate::plan::{FlowPlan, Origin, Tuning, plans, warn_of_costly_sizes};
use crate::routing::routed;
use hpmoe_core::analyze::CheckedGraph;
use hpmoe_core::compile::scheduled;
use hpmoe_core::cost::gradient_bytes;
use hpmoe_core::schedule::{Choices, Schedule};
use hpmoe_core::sizes::Expected;
use hpmoe_core::target::Target;
use hpmoe_core::validate::default_rows;
use hpmoe_simulator::baseline::{
    Direction, ForeignLayer, LayerShape, Original, Replay, SameLayer, Serial, extras, routing_tables, same_layer,
};
use hpmoe_simulator::simulate::{
    Ours, Policy, Routing, Time, Workload, Written, chosen_chunks, schedule_in_chunks, simulate,
};

/// A kernel on a target, to be simulated with all policies.
pub(crate) struct Scenario {
    pub(crate) target: Target,
    pub(crate) direction: Direction,
    pub(crate) routing: Routing,
    pub(crate) ranks: u32,
    /// The maximum number of tokens per rank.
    pub(crate) tokens: u32,
    /// Names of kernel and taskflow, for headings.
    pub(crate) name: String,
    /// The one-time cost of the placement on the command line, if there is one.
    pub(crate) copies: Option<Copies>,
    /// The element type of the weight gradients of the other policies; `None` if it is that of the kernel.
    gradients: Option<Written>,
    plan: FlowPlan,
    /// The kernel, with the number of chunks that is simulated.
    checked: CheckedGraph,
    /// The capacity of a rank in rows per chunk, if launches choose the number of chunks.
    room: Option<usize>,
    /// The layer of the original that is the same as the kernel's, or the reason why there is none.
    layer: Result<SameLayer, ForeignLayer>,
    /// The schedule of `ours`; `None` if only other policies are simulated.
    schedule: Option<Schedule>,
}

impl Scenario {
    pub(crate) fn read(options: &LayerArgs, policies: &[Policy]) -> Result<Self, String> {
        let mut target = options.target.read()?;
        if options.polling == Switch::Off {
            for key in ["poll_aic_us", "poll_aiv_us"] {
                target.set(&format!("original.{key}=0")).map_err(|fault| fault.to_string())?;
            }
        }
        let given = options.choices.as_deref().map(Choices::read).transpose();
        let given = given.map_err(|problem| format!("--choices: {problem}"))?;
        let tuning = Tuning::unless(options.untuned || given.is_some());
        let expected = Expected { ranks: Some(options.ranks), tokens: None };
        let plans = plans(&options.file, &options.settings, (&target, expected), tuning)?;
        let choice = Choice::new(options, &plans);
        let mut plan = choice.plan(plans)?;
        let layer = same_layer(&plan.checked);
        let direction = choice.direction(&plan, &layer)?;
        if let Some(choices) = given {
            (plan.choices, plan.origin) = (choices, Origin::Given);
        }
        let schedule = if policies.contains(&Policy::Ours) {
            warn_of_costly_sizes([&plan], options.allow_slow_tile_sizes, (&target, expected));
            Some(plan.schedule(&target)?.schedule().clone())
        } else {
            None
        };
        let graph = plan.graph();
        let placement = placements::chosen(options.placement.as_ref(), options.ranks, &graph.sizes)?;
        let routing = routed(&options.routing, &graph.sizes, options.ranks, placement.as_ref())?;
        let copies = placement.map(|placement| Copies::new(graph, &placement, &target)).transpose()?;
        let room = room(options, &plan)?;
        let chunks = match room {
            None => graph.sizes.chunks,
            Some(room) => chosen_chunks(&graph.sizes, &routing, room).map_err(|rows| {
                let most = graph.sizes.most_chunks();
                format!("a rank would receive {rows} rows in one of {most} chunks, but there is room for {room}: pass --rows {rows}, or another routing")
            })?,
        };
        let schedule = schedule.map(|schedule| schedule_in_chunks(&schedule, chunks).into_owned());
        let checked = plan.checked.in_chunks(chunks);
        Ok(Self {
            tokens: (0..options.ranks).map(|rank| routing.tokens(rank)).max().unwrap_or_default(),
            name: format!("{}::{}", graph.kernel, graph.taskflow),
            direction,
            ranks: options.ranks,
            gradients: (options.gradients == GradientType::Bf16).then_some(Written::BF16),
            target,
            routing,
            copies,
            layer,
            schedule,
            checked,
            room,
            plan,
        })
    }

    /// The checked graph of the kernel, with the number of chunks that is simulated.
    pub(crate) const fn checked(&self) -> &CheckedGraph {
        &self.checked
    }

    /// The number of chunks and the reason for it, if launches choose it.
    pub(crate) fn about_chunks(&self) -> Option<String> {
        let (chunks, most) = (self.checked.graph().sizes.chunks, self.checked.graph().sizes.most_chunks());
        let chunks = if chunks == 1 { "1 chunk".to_owned() } else { format!("{chunks} chunks") };
        self.room.map(|room| {
            format!("{chunks} of at most {most}, the fewest with room for their rows ({room} per rank and chunk)")
        })
    }

    /// The schedule of `ours`, if it is simulated.
    pub(crate) fn schedule(&self) -> Option<&Schedule> {
        self.schedule.as_ref()
    }

    /// The origin of the choices of `ours`.
    pub(crate) const fn origin(&self) -> Origin {
        self.plan.origin
    }

    /// A description of the inputs of the schedule of `ours`, if it is simulated.
    pub(crate) fn about_ours(&self) -> Option<String> {
        self.schedule.as_ref().map(|_| self.plan.about())
    }

    /// The tile sizes of the kernel (JSON).
    pub(crate) fn tile_sizes(&self) -> serde_json::Map<String, serde_json::Value> {
        self.plan.tile_sizes()
    }

    /// The policies that apply to the kernel.
    pub(crate) fn applying(&self, policies: &[Policy]) -> Vec<Policy> {
        let applies = |policy: &Policy| *policy != Policy::Hyperparallel || self.layer.is_ok();
        policies.iter().copied().filter(applies).collect()
    }

    /// The reason why the original can't be compared with the kernel; `None` if it can.
    pub(crate) fn foreign(&self) -> Option<String> {
        self.layer.as_ref().err().map(|foreign| format!("{} does not apply: {foreign}", Policy::Hyperparallel.name()))
    }

    /// The layer that the original runs, which is the same as the kernel's.
    fn shape(&self) -> Result<LayerShape, String> {
        let layer = self.layer.as_ref().map_err(|_| self.foreign().unwrap_or_default())?;
        Ok(LayerShape {
            ranks: self.ranks,
            tokens: self.tokens,
            experts: self.routing.experts(),
            top_k: self.routing.top_k(),
            hidden: layer.hidden,
            intermediate: layer.intermediate,
        })
    }

    /// The reasons why the original would refuse this layer.
    pub(crate) fn limits(&self) -> Result<Vec<String>, String> {
        let limits = Original::new(self.shape()?, self.direction).limits();
        Ok(limits.iter().map(ToString::to_string).collect())
    }

    /// The simulated latency of `ours` with some choices changed; changes are written as `key=value`.
    pub(crate) fn ours_with(&self, changes: &str) -> Result<Time, String> {
        let mut choices = self.plan.choices.clone();
        for (key, value) in changes.split_whitespace().filter_map(|change| change.split_once('=')) {
            choices.set(key, value)?;
        }
        let valid = scheduled(&self.plan.checked, &self.target, &choices)?;
        let schedule = schedule_in_chunks(valid.schedule(), self.checked.graph().sizes.chunks);
        let ours = Ours::new(&self.target, &self.checked, &schedule, &self.routing);
        let ours = ours.map_err(|unfit| unfit.to_string())?;
        simulate(&self.target, &ours, false).map(|run| run.time).map_err(|stuck| stuck.to_string())
    }

    /// Whether the kernel makes its route itself.
    pub(crate) fn makes_route(&self) -> bool {
        self.plan.graph().route.is_some()
    }

    /// The time of the separate kernels that a policy needs to do all that the user's kernel does: permutation and sum over k for the
    /// original, and routing tables if the user's kernel makes its route. For `ours` and `serial`, all of this is part of the workload.
    pub(crate) fn separate(&self, policy: Policy) -> Result<Time, String> {
        if policy != Policy::Hyperparallel {
            return Ok(Time::ZERO);
        }
        let shape = self.shape()?;
        let tables = self.makes_route().then(|| {
            let rows = u64::from(shape.tokens) * u64::from(shape.top_k);
            routing_tables(rows, &self.target)
        });
        Ok(extras(&shape, &self.target).into_iter().chain(tables).map(|extra| extra.time).sum())
    }

    /// The workload of a policy: all that the kernel does, except the work that [`Self::separate`] counts.
    pub(crate) fn workload(&self, policy: Policy) -> Result<Box<dyn Workload + '_>, String> {
        let routing = || self.routing.clone();
        Ok(match policy {
            Policy::Ours => Box::new(self.ours()?),
            Policy::Hyperparallel => {
                let replay = Replay::new(Original::new(self.shape()?, self.direction), routing(), &self.target);
                let element = gradient_bytes(self.plan.graph()).unwrap_or(Written::BF16.element);
                Box::new(replay.with_gradients(self.gradients.unwrap_or(Written::once(element, false))))
            }
            Policy::Serial => {
                let serial = Serial::of_graph(&self.checked, routing(), &self.target);
                Box::new(match self.gradients {
                    Some(gradients) => serial.with_gradients(gradients),
                    None => serial,
                })
            }
        })
    }

    /// The workload of `ours`.
    fn ours(&self) -> Result<Ours<'_>, String> {
        let schedule = self.schedule().ok_or("the kernel was not scheduled")?;
        let ours = Ours::new(&self.target, &self.checked, schedule, &self.routing);
        ours.map_err(|unfit| unfit.to_string())
    }
}

/// The capacity of a rank in rows per chunk, if launches of the kernel choose the number of chunks.
fn room(options: &LayerArgs, plan: &FlowPlan) -> Result<Option<usize>, String> {
    let graph = plan.graph();
    match (graph.sizes.chunks_at_most, options.rows) {
        (None, None) => Ok(None),
        (None, Some(rows)) => Err(format!(
            "--rows {rows}: launches of {}::{} have a constant number of chunks, which does not depend on the room for rows: leave it out, or \
             add --set CHUNKS_AT_MOST=8 to a taskflow that loops over chunks",
            graph.kernel, graph.taskflow
        )),
        (Some(_), rows) => Ok(Some(rows.unwrap_or(default_rows(graph, options.ranks) as usize))),
    }
}
