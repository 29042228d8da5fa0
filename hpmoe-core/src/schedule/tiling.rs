//! Compares phases: whether they have the same tiles on the same cores.

use super::PhaseSchedule;
use crate::graph::TaskGraph;
use crate::ids::{Arena, PhaseId};

/// Whether two phases cut the same space into the same tiles and deal them to the same cores.
pub(super) fn same_tiles(graph: &TaskGraph, phases: &Arena<PhaseId, PhaseSchedule>, [a, b]: [PhaseId; 2]) -> bool {
    let (call_a, call_b) = (&graph.phases[a], &graph.phases[b]);
    let (a, b) = (&phases[a], &phases[b]);
    (call_a.space, &call_a.ranges) == (call_b.space, &call_b.ranges)
        && (a.role, a.band, a.by_arrival, a.rotation) == (b.role, b.band, b.by_arrival, b.rotation)
        && a.preceding == b.preceding
}
