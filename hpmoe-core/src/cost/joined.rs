//! The panels that products that are walked together have in common.

use crate::graph::{Access, Phase, TaskGraph};
use crate::ids::{Arena, PhaseId};

/// The numbers of phases that are walked together, tile by tile, and of those that read the same panels. A core makes their tiles one after the
/// other, so a panel that several of them read comes from HBM once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Joined {
    /// Number of phases, including this one.
    pub phases: u32,
    /// Their left panels.
    pub left: Shared,
    /// Their right panels.
    pub right: Shared,
}

/// The panels of one side that phases read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shared {
    /// Number of phases that read the same panels as this one, including this one.
    pub same: u32,
    /// Number of different panels that all phases read for a tile.
    pub different: u32,
}

impl Shared {
    const ALONE: Self = Self { same: 1, different: 1 };
}

impl Joined {
    /// A phase that is walked alone.
    pub const ALONE: Self = Self { phases: 1, left: Shared::ALONE, right: Shared::ALONE };
}

/// For the left and for the right panels of each phase's products, the first phase whose products have the same panels. A phase without
/// products has no panels, and is the first one itself.
pub(super) fn panels(graph: &TaskGraph) -> Arena<PhaseId, [PhaseId; 2]> {
    let all: Arena<PhaseId, [Vec<Access>; 2]> = graph.phases.iter().map(|(_, phase)| operands(graph, phase)).collect();
    let first = |id: PhaseId, side: usize| {
        let (phase, own) = (&graph.phases[id], &all[id][side]);
        let same = |&other: &PhaseId| {
            let walked = &graph.phases[other];
            (walked.space, &walked.ranges, &all[other][side]) == (phase.space, &phase.ranges, own)
        };
        if own.is_empty() { id } else { graph.phases.ids().find(same).unwrap_or(id) }
    };
    graph.phases.ids().map(|id| [0, 1].map(|side| first(id, side))).collect()
}

/// The left and the right operands of a phase's products.
fn operands(graph: &TaskGraph, phase: &Phase) -> [Vec<Access>; 2] {
    let factors = || graph.tasks[phase.task].body.factors();
    let of_side = |side: usize| factors().map(|pair| phase.accesses[pair[side]]).collect();
    [0, 1].map(of_side)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost::Works;
    use crate::fixture::{Layer, moe_backward, moe_ffn};
    use crate::ids::{Id as _, TensorId};
    use hpmoe_kernels::op::TaskKind;

    fn shared(same: u32, different: u32) -> Shared {
        Shared { same, different }
    }

    #[test]
    fn gate_and_up_read_the_same_rows() {
        let checked = moe_ffn(&Layer::SMALL);
        let works = Works::of_phases(checked.graph());
        let [gate, up, down] = [1, 2, 4].map(PhaseId);
        let joined = |phases: &[PhaseId], phase: PhaseId| {
            let Joined { left, right, .. } = Works::joined(&works, phases, phase);
            (left, right)
        };
        assert_eq!([gate, up].map(|phase| joined(&[gate, up], phase)), [(shared(2, 1), shared(1, 2)); 2]);
        assert_eq!(joined(&[gate, up, down], up), (shared(2, 2), shared(1, 3)));
        assert_eq!(joined(&[gate, up, down], down), (shared(1, 2), shared(1, 3)));
        assert_eq!(Works::joined(&works, &[up], up), Joined::ALONE);
        // With other rows, in another space or with other columns, nothing is read for both.
        let changed = |change: &dyn Fn(&mut TaskGraph)| {
            let changed = checked.changed(change);
            Works::joined(&Works::of_phases(changed.graph()), &[gate, up], gate).left
        };
        assert_eq!(changed(&|graph| graph.phases[up].accesses[0].tensor = TensorId(0)), shared(1, 2));
        assert_eq!(changed(&|graph| graph.phases[up].space = graph.phases[PhaseId(0)].space), shared(1, 2));
        assert_eq!(changed(&|graph| graph.phases[up].ranges[0] += 1), shared(1, 2));
        // The same weights are a panel of the other side.
        let both = |graph: &mut TaskGraph| graph.phases[up].accesses[1] = graph.phases[gate].accesses[1];
        let both = checked.changed(both);
        assert_eq!(Works::joined(&Works::of_phases(both.graph()), &[gate, up], gate).right, shared(2, 1));
    }

    #[test]
    fn phases_without_products_share_no_panels() {
        let checked = moe_backward(&Layer::SMALL);
        let graph = checked.graph();
        let panels = panels(graph);
        let others = graph.phases.iter().filter(|(_, phase)| graph.tasks[phase.task].kind != TaskKind::Matrix);
        assert!(others.map(|(id, _)| (panels[id], [id; 2])).all(|(first, own)| first == own));
    }

    #[test]
    fn all_products_of_a_phase_must_have_the_same_panels() {
        let checked = moe_backward(&Layer::SMALL);
        let graph = checked.graph();
        let terms = |phase: &PhaseId| operands(graph, &graph.phases[*phase])[0].len();
        let sum = graph.phases.ids().find(|phase| terms(phase) == 2).expect("rows have gradients of two products");
        let left = operands(graph, &graph.phases[sum])[0][1];
        // A second phase like it, and one with another left operand in its second product.
        let mut twice = graph.phases[sum].clone();
        let with = |phase: crate::graph::Phase| {
            let changed = checked.changed(|graph| {
                graph.phases.push(phase.clone());
            });
            let last = PhaseId::new(graph.phases.len());
            Works::joined(&Works::of_phases(changed.graph()), &[sum, last], sum).left
        };
        assert_eq!(with(twice.clone()), shared(2, 1));
        let second =
            twice.accesses.iter_mut().filter(|access| **access == left).last().expect("the operand is an argument");
        second.tensor = TensorId(0);
        assert_eq!(with(twice), shared(1, 2));
    }
}
