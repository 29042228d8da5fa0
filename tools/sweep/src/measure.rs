//! The simulation of a case.

use crate::cases::{Build, Case, Layer, RoutingKind};
use crate::figures::Figures;
use hpmoe_core::analyze::CheckedGraph;
use hpmoe_core::artifacts::parse_settings;
use hpmoe_core::compile::scheduled;
use hpmoe_core::cost::gradient_bytes;
use hpmoe_core::front::{front, modules};
use hpmoe_core::schedule::Choices;
use hpmoe_core::sizes::{Expected, open_sizes};
use hpmoe_core::target::Target;
use hpmoe_core::tuned::overrides;
use hpmoe_core::validate::ValidSchedule;
use hpmoe_simulator::baseline::{Direction, Original, Replay, Serial, extras};
use hpmoe_simulator::simulate::{Ours, Simulated, Time, Workload, Written, bound, simulate};
use std::collections::BTreeMap;

/// The kernels of the bundled layers.
const FORWARD: &str = include_str!("../../../examples/moe_ffn.rs");
const BACKWARD: &str = include_str!("../../../examples/moe_backward.rs");

/// The times of serial execution in µs, by routing. They don't depend on the overhead of a tile, so builds that differ only in it share
/// them.
pub(crate) type SerialTimes = BTreeMap<RoutingKind, f64>;

/// A layer with its default schedule, and with tile sizes chosen for a number of ranks.
pub(crate) struct LayerPlan {
    layer: Layer,
    target: Target,
    checked: CheckedGraph,
    schedule: ValidSchedule,
    /// The element type of the original's weight gradients, which is the same as ours.
    gradients: Written,
}

impl LayerPlan {
    pub(crate) fn new(Build { layer, ranks }: Build) -> Result<Self, String> {
        let target = target(layer.overhead)?;
        let checked = checked(layer, ranks, &target)?;
        let schedule = scheduled(&checked, &target, &Choices::default())?;
        let element = gradient_bytes(checked.graph()).unwrap_or(Written::BF16.element);
        Ok(Self { layer, target, checked, schedule, gradients: Written::once(element, false) })
    }

    /// Simulates a case of the layer. The original's time includes the kernels before and after its own: permutation and sum over k. For
    /// all policies, the routing tables are made by the host.
    pub(crate) fn figures(&self, case: &Case, serial_times: &mut SerialTimes) -> Result<Figures, String> {
        let (routing, shape, direction) = (case.routing(), case.shape(), self.layer.direction);
        let run = |workload: &dyn Workload| -> Result<Simulated, String> {
            simulate(&self.target, workload, false).map_err(|stuck| format!("{case}: {stuck}"))
        };
        let ours = Ours::new(&self.target, &self.checked, self.schedule.schedule(), &routing);
        let ours = ours.map_err(|unfit| format!("{case}: {unfit}"))?;
        let run_of_ours = run(&ours)?;
        let original = Replay::new(Original::new(shape, direction), routing.clone(), &self.target);
        let separate: Time = extras(&shape, &self.target).iter().map(|extra| extra.time).sum();
        let serial = match serial_times.get(&case.routing) {
            Some(&time) => time,
            None => {
                let serial = Serial::of_graph(&self.checked, routing, &self.target);
                let time = run(&serial)?.time.us();
                serial_times.insert(case.routing, time);
                time
            }
        };
        let spent = run_of_ours.aic;
        let idle = [spent.dependency, spent.communication, spent.contention, spent.tail, spent.overhead];
        Ok(Figures {
            ours: run_of_ours.time.us(),
            original: (run(&original.with_gradients(self.gradients))?.time + separate).us(),
            serial,
            bound: bound(&self.target, &ours).time().us(),
            idle: idle.map(|time| time.us() / spent.total().us().max(f64::MIN_POSITIVE)),
        })
    }
}

/// The built-in target, with an original that does not poll.
fn target(overhead: u32) -> Result<Target, String> {
    let mut target = Target::ascend_a3();
    let tile = format!("sync.tile_overhead_ns={overhead}");
    for setting in [tile.as_str(), "original.poll_aic_us=0", "original.poll_aiv_us=0"] {
        target.set(setting).map_err(|fault| fault.to_string())?;
    }
    Ok(target)
}

/// The taskflow of a layer's pass, with the tile sizes that a build for the number of ranks chooses.
fn checked(layer: Layer, ranks: u32, target: &Target) -> Result<CheckedGraph, String> {
    let source = if layer.direction == Direction::Forward { FORWARD } else { BACKWARD };
    let model = layer.model();
    let settings = parse_settings(&format!(
        "HIDDEN={},INTER={},EXPERTS={},TOP_K={},TOKENS={}",
        model.hidden, model.inter, model.experts, model.top_k, layer.tokens
    ))?;
    let expected = Expected { ranks: Some(ranks), tokens: None };
    for module in modules(source).map_err(|error| error.to_string())? {
        let sizes = open_sizes(&module, &settings, target, expected)?;
        let kernel = front(&module, &overrides(&settings, &sizes)).map_err(|faults| {
            format!("{}: {}", model.name, faults.first().map_or_else(String::new, |fault| fault.words().message))
        })?;
        let kernel = kernel.for_ranks(&[ranks]);
        if let Some(flow) = kernel.flows.into_iter().find(|flow| flow.graph().taskflow == layer.direction.name()) {
            return Ok(flow);
        }
    }
    Err(format!("the example has no taskflow `{}`", layer.direction.name()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::{MODELS, RoutingKind};

    #[test]
    fn small_cases_of_both_passes_are_simulated() {
        let model = MODELS.iter().position(|model| model.name == "gpt-oss-120b").unwrap();
        for direction in [Direction::Forward, Direction::Backward] {
            let layer = Layer { model, direction, tokens: 16, overhead: 200 };
            let plan = LayerPlan::new(Build { layer, ranks: 2 }).unwrap();
            let mut serial = SerialTimes::new();
            let mut figures = |routing| plan.figures(&Case { layer, ranks: 2, routing }, &mut serial).unwrap();
            let [balanced, drifting] = [RoutingKind::Balanced, RoutingKind::Drifting].map(&mut figures);
            // Serial times are the same for another overhead, whether they are reused or simulated again.
            let slow = Layer { overhead: 900, ..layer };
            let slow = LayerPlan::new(Build { layer: slow, ranks: 2 }).unwrap();
            let case = Case { layer, ranks: 2, routing: RoutingKind::Balanced };
            let [known, anew] =
                [&mut serial, &mut SerialTimes::new()].map(|serial| slow.figures(&case, serial).unwrap());
            assert!(known == anew && known.serial == balanced.serial);
            // Our kernel reads weights while a tile begins, so it is not always slower by a tile's overhead.
            assert!(known.original > balanced.original && known.ours != balanced.ours);
            assert!(balanced.over_bound() >= 1.0 && drifting.over_bound() >= 1.0);
            assert!(balanced.original > 0.0 && balanced.serial > 0.0 && balanced != drifting);
            assert!(balanced.idle.iter().sum::<f64>() < 1.0);
        }
    }
}
