//! Which phases walk row tiles as their rows come.

use super::bands::walked_alike;
use hpmoe_kernels::op::TaskKind;
use hpmoe_language::analyze::CheckedGraph;
use hpmoe_language::graph::{Height, SpaceKind};
use hpmoe_language::ids::{Arena, Id, PhaseId};
use std::collections::BTreeSet;

/// Phases over row tiles that read what other ranks send, and those that feed them or are fed by them tile by tile. Where all
/// ranks send alike and at once, the rows of the next rank are complete no sooner than those of all others; who walked them
/// first would wait.
pub(super) fn coming(checked: &CheckedGraph) -> Arena<PhaseId, bool> {
    let graph = checked.graph();
    let kind = |phase: PhaseId| graph.spaces[graph.phases[phase].space].kind;
    let by_tiles = |phase: PhaseId| {
        let space = graph.spaces[graph.phases[phase].space];
        space.kind == SpaceKind::RowTiles && space.height != Height::WholeExpert
    };
    let sends = |phase: PhaseId| graph.tasks[graph.phases[phase].task].kind == TaskKind::Put;
    let sent = checked.dependencies().iter().filter(|d| sends(d.before) && kind(d.before) == SpaceKind::Sends);
    let mut alike = walked_alike(checked);
    let read: BTreeSet<usize> = sent.filter(|d| by_tiles(d.after)).map(|d| alike.find_mut(d.after.index())).collect();
    let phases = graph.phases.ids();
    phases.map(|phase| by_tiles(phase) && read.contains(&alike.find(phase.index()))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use hpmoe_language::fixture::{Layer, moe_backward, moe_ffn};

    fn names(checked: &CheckedGraph) -> Vec<String> {
        let graph = checked.graph();
        let coming = coming(checked);
        let phases = graph.phases.ids().filter(|&phase| coming[phase]);
        phases.map(|phase| graph.tasks[graph.phases[phase].task].name.clone()).collect()
    }

    #[test]
    fn what_is_put_back_is_walked_rank_after_rank() {
        assert_eq!(names(&moe_ffn(&Layer::SMALL)), ["project", "project", "swiglu"]);
        assert_eq!(names(&moe_backward(&Layer::SMALL)), ["project_back", "swiglu_grad_of"]);
    }
}
