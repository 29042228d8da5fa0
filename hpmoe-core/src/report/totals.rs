//! Totals of a graph and its schedule.

use crate::analyze::CheckedGraph;
use crate::collections::IdSet;
use crate::graph::{CHUNK_BUFFERS, SpaceKind};
use crate::schedule::{Implied, Schedule};
use hpmoe_kernels::op::TaskKind;

/// Totals of a graph and its schedule, for one rank of a group.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Totals {
    /// Number of ranks in the group.
    pub ranks: u32,
    /// Number of phases that run on matrix cores.
    pub matrix_phases: usize,
    /// Number of phases that run on vector cores and don't put.
    pub vector_phases: usize,
    /// Number of phases that put.
    pub put_phases: usize,
    /// Number of tiles per rank if each rank has `TOKENS` tokens, spread evenly over the experts.
    pub tiles: u64,
    /// Number of dependencies between phases.
    pub dependencies: usize,
    /// Number of dependencies with a wait of their own.
    pub kept: usize,
    /// Number of dependencies that a path of other waits implies.
    pub by_path: usize,
    /// Number of dependencies that the order of a queue, or earlier work of the same core, implies.
    pub by_queue: usize,
    /// Number of counter arrays that the dependencies could use.
    pub counter_arrays: usize,
    /// Number of counter arrays that the schedule waits for.
    pub counter_arrays_kept: usize,
    /// Number of entries in all queues of a rank.
    pub entries: usize,
    /// Number of matrix cores with work.
    pub aic: u32,
    /// Number of vector cores with work.
    pub aiv: u32,
}

/// Computes the totals for a number of ranks. If the schedule has no order for it, entries and cores with work are 0.
#[must_use]
pub fn totals(checked: &CheckedGraph, schedule: &Schedule, ranks: u32) -> Totals {
    let graph = checked.graph();
    let calls = |core| graph.phases.iter().filter(|(_, phase)| graph.tasks[phase.task].kind == core).count();
    let by_path = schedule.elided.iter().filter(|elision| matches!(elision.implied, Implied::Path(_))).count();
    let waits = schedule.waits();
    let order = schedule.order(ranks);
    let queues = || order.into_iter().flat_map(|order| order.queues.iter());
    let used = |kind| {
        let roles = order.into_iter().flat_map(|order| {
            order.queues.iter().filter(|(_, queue)| !queue.is_empty()).map(|(part, _)| &order.parts[part])
        });
        roles.filter(|role| role.kind == kind).map(|role| role.count).sum()
    };
    Totals {
        ranks,
        matrix_phases: calls(TaskKind::Matrix),
        vector_phases: calls(TaskKind::Vector),
        put_phases: calls(TaskKind::Put),
        tiles: tiles(checked, ranks),
        dependencies: checked.dependencies().len(),
        kept: checked.dependencies().len() - schedule.elided.len(),
        by_path,
        by_queue: schedule.elided.len() - by_path,
        counter_arrays: checked.counters().len(),
        counter_arrays_kept: waits.map(|wait| wait.counter).collect::<IdSet<_>>().len(),
        entries: queues().map(|(_, queue)| queue.len()).sum(),
        aic: used(crate::schedule::CoreKind::Aic),
        aiv: used(crate::schedule::CoreKind::Aiv),
    }
}

/// Number of tiles per rank if every expert receives equally many rows from every rank.
fn tiles(checked: &CheckedGraph, ranks: u32) -> u64 {
    let graph = checked.graph();
    let sizes = &graph.sizes;
    // Of one chunk.
    let routed = (sizes.chunk_tokens() * sizes.top_k) as u64;
    let [experts, local, pairs] = [
        sizes.used_experts(ranks as usize),
        sizes.local_experts(ranks as usize),
        sizes.physical_experts(ranks as usize),
    ]
    .map(|count| count as u64);
    let all_ranks = u64::from(ranks);
    let of_phase = |phase: &crate::graph::Phase| {
        let space = graph.spaces[phase.space];
        let height = u64::from(space.height.number());
        let items = match space.kind {
            SpaceKind::RowTiles => (routed * all_ranks).div_ceil(experts).div_ceil(height) * local,
            SpaceKind::OnceTiles => sizes.rows_once(ranks as usize).div_ceil(experts).div_ceil(height) * local,
            SpaceKind::Experts => local,
            SpaceKind::Sends | SpaceKind::Arrivals => routed.div_ceil(experts).div_ceil(height) * pairs,
            SpaceKind::SendsOnce => sizes.rows_once(ranks as usize).div_ceil(experts).div_ceil(height) * pairs,
            SpaceKind::Blocks => (sizes.chunk_tokens() as u64).div_ceil(height),
            SpaceKind::Chunks => 1,
        };
        let chunks =
            if space.kind == SpaceKind::Chunks { sizes.chunks.saturating_sub(CHUNK_BUFFERS) } else { sizes.chunks };
        items * u64::from(phase.columns()) * chunks as u64
    };
    graph.phases.iter().map(|(_, phase)| of_phase(phase)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Layer, moe_ffn};
    use crate::schedule::{Cores, schedule};

    #[test]
    fn deepseek_on_eight_ranks() {
        let checked = moe_ffn(&Layer::DEEPSEEK);
        let totals = totals(&checked, &schedule(&checked, Cores::ASCEND_A3), 8);
        // 256 row tiles by 8 + 8 + 8 + 28 columns, 2 puts of 2,048 pieces, 256 blocks by 7 columns.
        assert_eq!(totals.tiles, 256 * 52 + 2 * 2048 + 256 * 7);
        assert_eq!((totals.matrix_phases, totals.vector_phases, totals.put_phases), (3, 2, 2));
        assert_eq!((totals.dependencies, totals.kept, totals.by_path, totals.by_queue), (8, 5, 1, 2));
        assert_eq!((totals.counter_arrays, totals.counter_arrays_kept), (7, 5));
        assert_eq!((totals.entries, totals.aic, totals.aiv), (161, 24, 48));
    }
}
