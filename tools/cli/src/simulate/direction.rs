//! The pass of a layer that is simulated: the taskflow that `--direction` and `--taskflow` choose.

use crate::options::LayerArgs;
use crate::plan::{FlowPlan, chosen};
use hpmoe_core::cost::gradient_bytes;
use hpmoe_simulator::baseline::{Direction, ForeignLayer, SameLayer};

const DIRECTIONS: [Direction; 2] = [Direction::Forward, Direction::Backward];

/// The choice of a taskflow on the command line.
pub(super) struct Choice<'a> {
    /// The value of `--direction`, if it is given.
    direction: Option<Direction>,
    /// The value of `--taskflow`, if it is given.
    taskflow: Option<&'a str>,
    /// The taskflows of the file, as a printable list.
    names: String,
    count: usize,
}

impl<'a> Choice<'a> {
    pub(super) fn new(options: &'a LayerArgs, plans: &[FlowPlan]) -> Self {
        Self {
            direction: options.direction.map(Direction::from),
            taskflow: options.taskflow.as_deref(),
            names: plans.iter().map(FlowPlan::full_name).collect::<Vec<_>>().join(", "),
            count: plans.len(),
        }
    }

    /// The taskflow with the given name; without a name, the one that is called like the direction (by default, `forward`), or the only one.
    pub(super) fn plan(&self, plans: Vec<FlowPlan>) -> Result<FlowPlan, String> {
        if self.taskflow.is_some() {
            return chosen(plans, self.taskflow);
        }
        let name = self.direction.unwrap_or(Direction::Forward).name();
        let is_named = plans.iter().any(|plan| plan.graph().taskflow == name);
        match self.direction {
            Some(_) if !is_named && self.count > 1 => Err(format!(
                "--direction {name}: no taskflow is called `{name}`: choose --taskflow among {}",
                self.names
            )),
            _ => chosen(plans, is_named.then_some(name)),
        }
    }

    /// The direction of the chosen taskflow. If neither its graph nor its name tells, it is the given direction, and `forward` by default.
    /// Refuses a given direction that differs.
    pub(super) fn direction(
        &self,
        plan: &FlowPlan,
        layer: &Result<SameLayer, ForeignLayer>,
    ) -> Result<Direction, String> {
        let by_name = || DIRECTIONS.into_iter().find(|direction| direction.name() == plan.graph().taskflow);
        let by_gradients = || gradient_bytes(plan.graph()).map(|_| Direction::Backward);
        let known = layer.as_ref().ok().map(|layer| layer.direction).or_else(by_name).or_else(by_gradients);
        match (known, self.direction) {
            (Some(known), Some(given)) if known != given => {
                let kernel = &plan.graph().kernel;
                let way_out = match self.count {
                    1 => format!(", and kernel `{kernel}` has no other taskflow: leave --direction out"),
                    _ => format!(": choose --taskflow among {}, or leave --direction out", self.names),
                };
                let (given, known) = (given.name(), known.name());
                Err(format!("--direction {given}: `{}` is a {known} pass{way_out}", plan.full_name()))
            }
            (known, given) => Ok(known.or(given).unwrap_or(Direction::Forward)),
        }
    }
}
