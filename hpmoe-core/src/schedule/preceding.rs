//! The tiles that precede a phase's own in the numbering that deals tiles to cores.

use crate::graph::{Height, TaskGraph};
use crate::ids::{Arena, PhaseId, RoleId, SpaceId};

/// The tiles that precede each phase's own tiles: those of earlier phases of the same role, each kind of tiles once.
///
/// Phases with equal tiles have equal numbers, so that one core makes the same tile of all of them. Phases over whole experts have separate
/// numbers instead: their tiles are few, and each takes longer with more rows of its expert, so a core with one more tile of a phase should
/// have one less of the next phase.
pub(super) fn preceding(graph: &TaskGraph, role_of: &Arena<PhaseId, RoleId>) -> Arena<PhaseId, Vec<(SpaceId, u32)>> {
    let tiles = |phase: PhaseId| (graph.phases[phase].space, graph.phases[phase].columns());
    let whole = |phase: PhaseId| graph.spaces[graph.phases[phase].space].height == Height::WholeExpert;
    let alike = |[a, b]: [PhaseId; 2]| a == b || tiles(a) == tiles(b) && !whole(a);
    let preceding = |phase: PhaseId| {
        let same_role = graph.phases.ids().filter(|other| role_of[*other] == role_of[phase]);
        let mut earlier: Vec<PhaseId> = Vec::new();
        for other in same_role.take_while(|&other| !alike([other, phase])) {
            if !earlier.iter().any(|&known| alike([known, other])) {
                earlier.push(other);
            }
        }
        earlier.into_iter().map(tiles).collect()
    };
    graph.phases.ids().map(preceding).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Layer, moe_backward, moe_ffn};
    use crate::schedule::{Cores, schedule};

    #[test]
    fn the_same_tiles_begin_alike_and_others_after_them() {
        let checked = moe_ffn(&Layer::SMALL);
        let schedule = schedule(&checked, Cores::ASCEND_A3);
        let starts = |phase| &schedule.phases[PhaseId(phase)].preceding;
        let gate = (checked.graph().phases[PhaseId(1)].space, checked.graph().phases[PhaseId(1)].columns());
        assert!(starts(0).is_empty() && starts(1).is_empty());
        assert_eq!(starts(1), starts(2));
        assert_eq!(starts(4), &[gate]);
        assert_eq!(starts(5).len(), 1);
    }

    #[test]
    fn gradients_of_weights_begin_one_after_the_other() {
        let checked = moe_backward(&Layer::SMALL);
        let schedule = schedule(&checked, Cores::ASCEND_A3);
        let whole = checked
            .graph()
            .phases
            .iter()
            .filter(|(_, phase)| checked.graph().spaces[phase.space].height == Height::WholeExpert);
        let whole: Vec<PhaseId> = whole.map(|(id, _)| id).collect();
        assert_eq!(whole.len(), 3);
        let tiles = |phase: PhaseId| checked.graph().phases[phase].columns();
        let before = |phase: PhaseId| schedule.phases[phase].preceding.iter().map(|&(_, columns)| columns).sum::<u32>();
        for pair in whole.windows(2) {
            assert_eq!(before(pair[1]), before(pair[0]) + tiles(pair[0]));
            assert!(!schedule.phases[pair[1]].joins_previous, "phases with other cores aren't walked together");
        }
    }
}
