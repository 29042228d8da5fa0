//! Where the count of each phase's tiles begins.

use crate::graph::TaskGraph;
use crate::ids::{Arena, PhaseId, RoleId, SpaceId};

/// Lets each kind of tiles of a role begin where the one before it ended. Phases with the same tiles begin alike, so that one
/// core makes the same tile of all of them.
pub(super) fn starts(graph: &TaskGraph, role_of: &Arena<PhaseId, RoleId>) -> Arena<PhaseId, Vec<(SpaceId, u32)>> {
    let tiles = |phase: PhaseId| (graph.phases[phase].space, graph.phases[phase].columns());
    let start = |phase: PhaseId| {
        let mut before = Vec::new();
        let same_role = graph.phases.ids().filter(|other| role_of[*other] == role_of[phase]);
        for kind in same_role.map(tiles).take_while(|kind| *kind != tiles(phase)) {
            if !before.contains(&kind) {
                before.push(kind);
            }
        }
        before
    };
    graph.phases.ids().map(start).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::fixture::{Layer, moe_ffn};
    use crate::schedule::{Cores, schedule};

    #[test]
    fn the_same_tiles_begin_alike_and_others_behind_them() {
        let checked = moe_ffn(&Layer::SMALL);
        let schedule = schedule(&checked, Cores::ASCEND_A3);
        let starts = |phase| &schedule.starts[PhaseId(phase)];
        let gate = (checked.graph().phases[PhaseId(1)].space, checked.graph().phases[PhaseId(1)].columns());
        assert!(starts(0).is_empty() && starts(1).is_empty());
        assert_eq!(starts(1), starts(2));
        assert_eq!(starts(4), &[gate]);
        assert_eq!(starts(5).len(), 1);
    }
}
