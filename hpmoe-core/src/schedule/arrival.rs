//! Chooses the phases that walk row tiles in the order in which their rows arrive.

use crate::analyze::CheckedGraph;
use crate::graph::{Height, SpaceKind};
use crate::ids::{Arena, PhaseId};

/// For each phase, whether it walks row tiles in the order in which their rows arrive if ranks send evenly.
///
/// If some phase over row tiles reads rows from other ranks, all phases over row tiles do. Phases over all rows of an expert at once never
/// do. If all ranks send at the same time and rate, the rows of the next rank are complete no sooner than those of any other rank, so a
/// core that walked the next rank's rows first would wait. Results are put back in the order in which their rows arrived.
pub(super) fn by_arrival(checked: &CheckedGraph) -> Arena<PhaseId, bool> {
    let graph = checked.graph();
    let kind = |phase: PhaseId| graph.spaces[graph.phases[phase].space].kind;
    let over_row_tiles = |phase: PhaseId| {
        let space = graph.spaces[graph.phases[phase].space];
        space.kind == SpaceKind::RowTiles && space.height != Height::WholeExpert
    };
    let some_reads =
        checked.dependencies().iter().any(|d| kind(d.before) == SpaceKind::Sends && over_row_tiles(d.after));
    graph.phases.ids().map(|phase| some_reads && over_row_tiles(phase)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Layer, moe_backward, moe_ffn, once, sums};

    fn names(checked: &CheckedGraph) -> Vec<String> {
        let graph = checked.graph();
        let by_arrival = by_arrival(checked);
        let phases = graph.phases.ids().filter(|&phase| by_arrival[phase]);
        phases.map(|phase| graph.tasks[graph.phases[phase].task].name.clone()).collect()
    }

    #[test]
    fn all_row_tiles_of_sent_rows_are_walked_as_they_come() {
        assert_eq!(names(&moe_ffn(&Layer::SMALL)), ["project", "project", "swiglu", "project"]);
        assert_eq!(names(&moe_backward(&Layer::SMALL)), ["project_back", "swiglu_grad_of", "input_grad"]);
    }

    #[test]
    fn what_reads_copies_or_all_rows_of_an_expert_is_not_walked_by_arrival() {
        assert_eq!(names(&once(&Layer::SMALL)), [""; 0]);
        assert_eq!(names(&sums(&Layer::TINY, 1)), [""; 0]);
    }

    #[test]
    fn row_tiles_that_nobody_sends_to_are_not_walked_by_arrival() {
        let mut layer = moe_ffn(&Layer::SMALL);
        let (graph, combine) = (layer.graph().clone(), PhaseId(6));
        let sends = |phase: PhaseId| graph.spaces[graph.phases[phase].space].kind == SpaceKind::Sends;
        let sent = layer.dependencies_mut().iter_mut().filter(|d| sends(d.before));
        assert!(sent.map(|d| d.after = combine).count() > 0);
        assert_eq!(names(&layer), [""; 0]);
    }
}
