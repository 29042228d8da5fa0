//! Chooses the phases that read weights ahead.

use super::{PhaseSchedule, Schedule};
use crate::analyze::CheckedGraph;
use crate::cost::{Ahead, Work};
use crate::graph::{Rows, Storage};
use crate::ids::{Arena, PhaseId, TensorId};
use crate::plan::{Plan, Product};

/// Marks the phases that read the right operand of their product ahead: while the previous tile ends, and while a tile waits for its left
/// operand.
///
/// This needs a right operand that exists before the launch and doesn't change: a matrix of the caller that no phase writes. Tasks with
/// external operators don't read ahead, because the operators need the core's memory themselves.
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

/// The bytes that a tile of a phase could read before the tile begins, whatever the schedule says; zero if the phase can't read ahead.
#[must_use]
pub fn most_ahead_of(checked: &CheckedGraph, phase: PhaseId, work: &Work) -> Ahead {
    let plan = &checked.plans()[checked.graph().phases[phase].task];
    let product = cube_product(plan).filter(|_| can_read_ahead(checked, phase));
    product.map_or_else(Ahead::default, |product| Ahead::new(work, product))
}

/// The bytes that a tile of a phase reads before the tile begins, if there is time; zero if the schedule doesn't let the phase read ahead.
#[must_use]
pub fn ahead_of(checked: &CheckedGraph, schedule: &Schedule, phase: PhaseId, work: &Work) -> Ahead {
    let plan = &checked.plans()[checked.graph().phases[phase].task];
    product_ahead(plan, &schedule.phases[phase]).map_or_else(Ahead::default, |product| Ahead::new(work, product))
}

/// The product whose weights the tiles of a phase read before they begin; `None` if the phase doesn't read ahead.
pub(crate) fn product_ahead<'p>(plan: &'p Plan, phase: &PhaseSchedule) -> Option<&'p Product> {
    cube_product(plan).filter(|_| phase.reads_ahead)
}

fn cube_product(plan: &Plan) -> Option<&Product> {
    match plan {
        Plan::Cube(plan) => plan.products.first(),
        _ => None,
    }
}

/// The right operand of the first product that a phase's tiles compute: the number of its parameter, and its tensor. `None` if the phase's
/// task is not a product, or has an external operator.
#[must_use]
pub fn right_operand(checked: &CheckedGraph, phase: PhaseId) -> Option<(usize, TensorId)> {
    let phase = &checked.graph().phases[phase];
    let Plan::Cube(plan) = &checked.plans()[phase.task] else { return None };
    let param = plan.products.first()?.terms.first()?.w.0;
    Some((param, phase.accesses[param].tensor))
}

/// Whether a tensor is the caller's and no phase writes it.
fn is_constant(checked: &CheckedGraph, tensor: TensorId) -> bool {
    let graph = checked.graph();
    let mut accesses = graph.phases.iter().flat_map(|(_, phase)| &phase.accesses);
    graph.tensors[tensor].storage == Storage::Argument
        && accesses.all(|access| access.tensor != tensor || !access.write)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost::{EntryTile, Joined};
    use crate::fixture::{Layer, moe_backward, moe_ffn, widened};
    use crate::graph::Access;
    use crate::schedule::{Choices, schedule_with};
    use crate::target::Target;

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
    fn a_tensor_of_the_kernel_is_not_there_before_it() {
        let checked = moe_ffn(&Layer::SMALL);
        for storage in [Storage::Workspace, Storage::Symmetric, Storage::Shared] {
            let kept = checked.changed(|graph| {
                let up = graph.tensors.ids().find(|&id| graph.tensors[id].name == "up").unwrap();
                graph.tensors[up].storage = storage;
            });
            assert_eq!(ahead(&kept, ""), ["gate", "down"]);
        }
    }

    #[test]
    fn the_most_that_can_be_read_ahead_is_what_a_phase_that_reads_ahead_reads() {
        let target = Target::ascend_a3();
        for checked in [moe_ffn(&Layer::SMALL), widened(&Layer::SMALL), moe_backward(&Layer::SMALL)] {
            let [reads, reads_not] = ["", "read_ahead=false"]
                .map(|choices| schedule_with(&checked, &target, &Choices::read(choices).unwrap()));
            let works = crate::cost::Works::of_phases(checked.graph());
            for phase in checked.graph().phases.ids() {
                let rows = works[phase].full_rows();
                let tile = EntryTile { peer: 0, rows, column: 0, items: 1, band: 1, joined: Joined::ALONE };
                let work = works[phase].work(&target, tile);
                let most = most_ahead_of(&checked, phase, &work);
                assert_eq!(most, ahead_of(&checked, &reads, phase, &work));
                assert_eq!(most != Ahead::default(), reads.phases[phase].reads_ahead, "phase {phase:?}");
                assert_eq!(ahead_of(&checked, &reads_not, phase, &work), Ahead::default());
            }
        }
    }

    #[test]
    fn what_a_call_writes_is_not_read_ahead_even_if_it_is_the_caller_s() {
        let checked = moe_ffn(&Layer::SMALL);
        let [gate, down] = [1, 4].map(PhaseId);
        let (place, tensor) = right_operand(&checked, gate).unwrap();
        let read = checked.graph().phases[gate].accesses[place];
        let written = checked.changed(|graph| graph.phases[down].accesses.push(Access { write: true, ..read }));
        assert!(is_constant(&checked, tensor) && !is_constant(&written, tensor));
        assert!(can_read_ahead(&checked, gate) && !can_read_ahead(&written, gate));
    }

    #[test]
    fn of_several_products_in_one_sum_the_first_one_s_weights_are_read() {
        let checked = moe_backward(&Layer::SMALL);
        let mut sums = 0;
        for (id, phase) in checked.graph().phases.iter() {
            let Plan::Cube(plan) = &checked.plans()[phase.task] else { continue };
            let terms = &plan.products[0].terms;
            let tensor = |term: usize| phase.accesses[terms[term].w.0].tensor;
            assert_eq!(right_operand(&checked, id).unwrap().1, tensor(0));
            sums += u32::from(terms.len() > 1 && tensor(0) != tensor(terms.len() - 1));
        }
        assert!(sums > 0, "a sum of two products");
    }

    #[test]
    fn what_the_kernel_makes_is_not_read_ahead() {
        // Weight gradients are products of rows.
        let backward = ahead(&moe_backward(&Layer::SMALL), "");
        assert!(backward.iter().all(|name| ["gate", "up", "down"].contains(&name.as_str())), "{backward:?}");
        assert!(!backward.is_empty());
        // Vector cores widen these weights, so they don't exist before the launch.
        assert_eq!(ahead(&widened(&Layer::SMALL), ""), [""; 0]);
    }
}
