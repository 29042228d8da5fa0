//! Fences of puts: one fence serves all puts that are walked together.

use super::Schedule;
use crate::analyze::Signal;
use crate::graph::TaskGraph;
use crate::ids::{Id as _, PhaseId};
use hpmoe_kernels::op::TaskKind;

/// Whether a phase and the next one put the same pieces, so that one fence serves both if the next one joins.
pub(super) fn may_share_next_fence(graph: &TaskGraph, phase: PhaseId) -> bool {
    let next = PhaseId::new(phase.index() + 1);
    let puts = |phase: PhaseId| graph.tasks[graph.phases[phase].task].kind == TaskKind::Put;
    next.index() < graph.phases.len()
        && puts(phase)
        && puts(next)
        && graph.phases[phase].space == graph.phases[next].space
}

impl Schedule {
    /// Whether a phase leaves its fence and its signals to the next phase: both put, and the next phase joins this one.
    ///
    /// This can't cause a deadlock. The second put waits only for data and memory that the first put has already waited for, and for its peer
    /// to start, which no signal delays.
    #[must_use]
    pub fn shares_next_fence(&self, graph: &TaskGraph, phase: PhaseId) -> bool {
        may_share_next_fence(graph, phase) && self.phases[PhaseId::new(phase.index() + 1)].joins_previous
    }

    /// The phases whose signals follow a tile of a phase, in program order: the phase itself, after those that leave their fences to it.
    /// Empty if the phase leaves its own.
    pub(crate) fn fenced_with(&self, graph: &TaskGraph, phase: PhaseId) -> impl Iterator<Item = PhaseId> + use<> {
        let earlier = (0..phase.index()).rev().map(PhaseId::new);
        let leaving = earlier.take_while(|&before| self.shares_next_fence(graph, before)).count();
        let count = if self.shares_next_fence(graph, phase) { 0 } else { leaving + 1 };
        (phase.index() - leaving..).take(count).map(PhaseId::new)
    }

    /// The signals that follow a tile of a phase, those of other puts with the same fence first.
    pub fn signals_after(&self, graph: &TaskGraph, phase: PhaseId) -> impl Iterator<Item = &Signal> {
        self.fenced_with(graph, phase).flat_map(|of| &self.phases[of].signals)
    }
}

#[cfg(test)]
mod tests {
    use crate::analyze::CheckedGraph;
    use crate::fixture::{Layer, moe_ffn, three_puts};
    use crate::ids::{Id as _, PhaseId};
    use crate::schedule::{Choices, Cores, Schedule, schedule, schedule_with};
    use crate::target::Target;
    use crate::validate::validate;

    fn leaving(checked: &CheckedGraph, schedule: &Schedule) -> Vec<PhaseId> {
        let graph = checked.graph();
        graph.phases.ids().filter(|&id| schedule.shares_next_fence(graph, id)).collect()
    }

    #[test]
    fn puts_that_join_have_one_fence() {
        let checked = three_puts();
        let graph = checked.graph();
        let joined = validate(&checked, schedule(&checked, Cores::ASCEND_A3)).unwrap();
        let joined = joined.schedule();
        assert_eq!(leaving(&checked, joined), [0, 1].map(PhaseId::new));
        let after = |phase: usize| joined.signals_after(graph, PhaseId::new(phase)).count();
        assert_eq!([0, 1, 2].map(after), [0, 0, 2]);
        let apart = schedule_with(&checked, &Target::ascend_a3(), &Choices::read("join=false").unwrap());
        assert_eq!(leaving(&checked, &apart), []);
        // Each signal follows one tile.
        for schedule in [joined, &apart] {
            let all = graph.phases.ids().flat_map(|id| schedule.signals_after(graph, id));
            assert!(all.eq(schedule.signals()));
        }
    }

    #[test]
    fn products_that_join_keep_their_signals() {
        let checked = moe_ffn(&Layer::DEEPSEEK);
        let made = schedule(&checked, Cores::ASCEND_A3);
        assert!(made.phases.iter().any(|(_, phase)| phase.joins_previous));
        assert_eq!(leaving(&checked, &made), []);
    }
}
