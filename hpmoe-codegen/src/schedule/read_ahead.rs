//! Which phases read weights ahead.

use super::{PhaseSchedule, Schedule};
use crate::cost::{Ahead, Work};
use hpmoe_language::analyze::CheckedGraph;
use hpmoe_language::graph::{Rows, Storage};
use hpmoe_language::ids::{Arena, PhaseId, TensorId};
use hpmoe_language::plan::{Plan, Product};

/// Notes which phases read the right operand of their product ahead: while the tile before ends, and while a tile waits for its left operand.
///
/// That needs a right operand that is there before the launch and stays as it is: a matrix of the caller's that no phase writes. External
/// operators have the core's memory for themselves.
pub(super) fn read_ahead(checked: &CheckedGraph, phases: &mut Arena<PhaseId, PhaseSchedule>) {
    for id in checked.graph().phases.ids() {
        phases[id].reads_ahead = can_read_ahead(checked, id);
    }
}

fn can_read_ahead(checked: &CheckedGraph, phase: PhaseId) -> bool {
    right_operand(checked, phase).is_some_and(|(param, tensor)| {
        let access = &checked.graph().phases[phase].accesses[param];
        matches!(access.region.rows, Rows::Expert { .. }) && is_constant(checked, tensor)
    })
}

/// What a tile of a phase can read before it begins in any schedule of the graph.
#[must_use]
pub fn most_ahead_of(checked: &CheckedGraph, phase: PhaseId, work: &Work) -> Ahead {
    let plan = &checked.plans()[checked.graph().phases[phase].task];
    let product = cube_product(plan).filter(|_| can_read_ahead(checked, phase));
    product.map_or_else(Ahead::default, |product| Ahead::of(work, product))
}

/// What a tile of a phase can read before it begins: nothing where the phase doesn't read ahead.
#[must_use]
pub fn ahead_of(checked: &CheckedGraph, schedule: &Schedule, phase: PhaseId, work: &Work) -> Ahead {
    let plan = &checked.plans()[checked.graph().phases[phase].task];
    product_ahead(plan, &schedule.phases[phase]).map_or_else(Ahead::default, |product| Ahead::of(work, product))
}

/// The product whose weights the tiles of a phase read before they begin, if they do.
pub(crate) fn product_ahead<'p>(plan: &'p Plan, phase: &PhaseSchedule) -> Option<&'p Product> {
    cube_product(plan).filter(|_| phase.reads_ahead)
}

fn cube_product(plan: &Plan) -> Option<&Product> {
    match plan {
        Plan::Cube(plan) => plan.products.first(),
        _ => None,
    }
}

/// The right operand of the first product of a phase's tiles: the parameter, and the tensor that it is a part of.
#[must_use]
pub fn right_operand(checked: &CheckedGraph, phase: PhaseId) -> Option<(usize, TensorId)> {
    let phase = &checked.graph().phases[phase];
    let Plan::Cube(plan) = &checked.plans()[phase.task] else { return None };
    let param = plan.products.first()?.terms.first()?.w.0;
    Some((param, phase.accesses[param].tensor))
}

/// Whether a tensor is given by the caller and stays as it is.
fn is_constant(checked: &CheckedGraph, tensor: TensorId) -> bool {
    let graph = checked.graph();
    let mut accesses = graph.phases.iter().flat_map(|(_, phase)| &phase.accesses);
    graph.tensors[tensor].storage == Storage::Argument
        && accesses.all(|access| access.tensor != tensor || !access.write)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::{Choices, schedule_with};
    use crate::target::Target;
    use hpmoe_language::fixture::{Layer, moe_backward, moe_ffn, widened};

    fn ahead(checked: &CheckedGraph, choices: &str) -> Vec<String> {
        let schedule = schedule_with(checked, &Target::ascend_a3(), &Choices::read(choices).unwrap());
        let phases = schedule.phases.iter().filter(|(_, phase)| phase.reads_ahead);
        let tensors = phases.map(|(id, _)| right_operand(checked, id).unwrap().1);
        tensors.map(|tensor| checked.graph().tensors[tensor].name.clone()).collect()
    }

    #[test]
    fn weights_of_the_caller_are_read_ahead() {
        assert_eq!(ahead(&moe_ffn(&Layer::SMALL), ""), ["gate", "up", "down"]);
        assert_eq!(ahead(&moe_ffn(&Layer::SMALL), "read_ahead=false"), [""; 0]);
    }

    #[test]
    fn what_the_kernel_makes_is_not_read_ahead() {
        // Weight gradients are products of rows.
        let backward = ahead(&moe_backward(&Layer::SMALL), "");
        assert!(backward.iter().all(|name| ["gate", "up", "down"].contains(&name.as_str())), "{backward:?}");
        assert!(!backward.is_empty());
        // Widened weights are made by vector cores.
        assert_eq!(ahead(&widened(&Layer::SMALL), ""), [""; 0]);
    }
}
