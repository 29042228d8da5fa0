//! The time of entries on a target when tokens are spread evenly over the experts.
//!
//! It decides the order of entries and how vector cores are divided. Times are modelled, never measured: those of tiles are the
//! simulator's for a tile that runs alone.

use super::Role;
use crate::cost::{self, Works};
use crate::target::Target;
use hpmoe_kernels::op::TaskKind;
use hpmoe_language::graph::{SpaceKind, TaskGraph};
use hpmoe_language::ids::{Arena, PhaseId};
use hpmoe_language::units::Nanos;

/// The modelled times of the entries of a graph.
pub(super) struct EntryCosts {
    phases: Arena<PhaseId, PhaseCost>,
    /// Time of each tile in addition to its work.
    overhead: Nanos,
    /// Time from a signal to the moment at which a waiting core sees it.
    pub(super) visible: Nanos,
    /// Time from a put until its rows are known to have arrived.
    fence: Nanos,
    /// Bandwidth of a die's link to other packages, divided by that of the puts of one core.
    link_over_put: f64,
}

#[derive(Clone, Copy)]
struct PhaseCost {
    /// Picoseconds of a full tile, without overhead.
    tile_ps: u64,
    full_rows: u64,
    columns: u64,
    kind: SpaceKind,
    puts: bool,
}

impl EntryCosts {
    pub(super) fn new(graph: &TaskGraph, target: &Target) -> Self {
        let costs = cost::CostModel::new(target);
        let works = Works::of_phases(graph);
        let phases = graph.phases.iter().map(|(id, phase)| PhaseCost {
            tile_ps: works[id].alone(target, &costs).0,
            full_rows: u64::from(works[id].full_rows()),
            columns: u64::from(phase.columns()),
            kind: graph.spaces[phase.space].kind,
            puts: graph.tasks[phase.task].kind == TaskKind::Put && phase.accesses.iter().any(|access| access.remote),
        });
        let nanos = |ns: f64| Nanos(ns.round() as u64);
        Self {
            phases: phases.collect(),
            overhead: nanos(target.sync.task_pickup_ns + target.sync.tile_overhead_ns),
            visible: nanos(target.sync.counter_visible_ns),
            fence: nanos(target.sync.fence_remote_ns),
            link_over_put: target.link.other_package_gb_per_s / target.link.put_gb_per_s_per_aiv,
        }
    }

    /// Time on one core for that many rows of a phase.
    fn core_time(&self, phase: PhaseId, rows: u64) -> Nanos {
        let PhaseCost { tile_ps, full_rows, columns, .. } = self.phases[phase];
        let tiles = rows.div_ceil(full_rows) * columns;
        Nanos(tile_ps * columns * rows / full_rows / 1_000) + self.overhead * tiles
    }

    /// Time on one core for all entries of a phase.
    pub(super) fn phase_time(&self, graph: &TaskGraph, phase: PhaseId) -> Nanos {
        let all = match self.phases[phase].kind {
            SpaceKind::Chunks => graph.sizes.chunks,
            SpaceKind::Blocks => graph.sizes.tokens,
            _ => graph.sizes.tokens * graph.sizes.top_k,
        };
        self.core_time(phase, all as u64)
    }

    /// Number of vector cores that fill the link with puts of a phase; more of them put no faster. A core that waits for its
    /// rows to arrive leaves the link to others.
    pub(super) fn put_cores(&self, phase: PhaseId) -> u32 {
        let put = Nanos(self.phases[phase].tile_ps / 1_000).0.max(1);
        let paused = (self.fence + self.overhead).0;
        (self.link_over_put * (put + paused) as f64 / put as f64).ceil() as u32
    }

    /// Time from the start of an entry of the phase to its end. Its tiles are dealt to the cores that share its queue.
    pub(super) fn entry_time(&self, graph: &TaskGraph, role: &Role, ranks: u32, phase: PhaseId) -> Nanos {
        let cost = self.phases[phase];
        // No tile is shared by two cores.
        let rows = self.entry_rows(graph, ranks, phase).min(cost.full_rows);
        let longest_tile = Nanos(cost.tile_ps * rows / cost.full_rows / 1_000);
        self.entry_share(graph, role, ranks, phase).max(longest_tile + self.overhead)
    }

    /// Time that an entry of the phase takes from each of its cores, on average.
    pub(super) fn entry_share(&self, graph: &TaskGraph, role: &Role, ranks: u32, phase: PhaseId) -> Nanos {
        let time = self.core_time(phase, self.entry_rows(graph, ranks, phase));
        let share = Nanos(time.0.div_ceil(u64::from(role.count.max(1))));
        let PhaseCost { tile_ps, full_rows, columns, puts, .. } = self.phases[phase];
        if !puts {
            return share;
        }
        // However many cores put, the link is no faster.
        let all = tile_ps as f64 * (self.entry_rows(graph, ranks, phase) * columns) as f64 / full_rows as f64;
        share.max(Nanos((all / self.link_over_put / 1_000.0) as u64))
    }

    /// Rows of an entry when tokens are spread evenly.
    fn entry_rows(&self, graph: &TaskGraph, ranks: u32, phase: PhaseId) -> u64 {
        let sizes = &graph.sizes;
        let tokens = sizes.chunk_tokens();
        let rows = match self.phases[phase].kind {
            SpaceKind::Chunks => 1,
            SpaceKind::Blocks => tokens,
            SpaceKind::RowTiles | SpaceKind::OnceTiles | SpaceKind::Experts => {
                (tokens * sizes.top_k * ranks as usize).div_ceil(sizes.experts)
            }
            SpaceKind::SendsOnce => (sizes.rows_once(ranks as usize) as usize).div_ceil(sizes.experts),
            SpaceKind::Sends | SpaceKind::Arrivals => (tokens * sizes.top_k).div_ceil(sizes.experts),
        };
        rows as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hpmoe_language::fixture::{Layer, moe_ffn};
    use hpmoe_language::ids::Id;

    #[test]
    fn deepseek_projections_take_what_the_cube_allows() {
        let checked = moe_ffn(&Layer::DEEPSEEK);
        let graph = checked.graph();
        let costs = EntryCosts::new(graph, &Target::ascend_a3());
        let matrix: u64 = [1, 2, 4].map(|p| costs.phase_time(graph, PhaseId::new(p)).0).iter().sum();
        // 6 * H * I * rows over 24 cores at 86 % of peak is 9.2 ms; tiles add 300 ns each.
        let ms = matrix as f64 / 24.0 / 1e6;
        assert!((9.2..9.5).contains(&ms), "{ms} ms");
    }

    #[test]
    fn a_narrow_last_tile_costs_what_it_holds() {
        let wide = moe_ffn(&Layer { columns: 4096, ..Layer::SMALL });
        let exact = moe_ffn(&Layer { columns: 128, ..Layer::SMALL });
        let combine = PhaseId::new(6);
        let time = |checked: &hpmoe_language::analyze::CheckedGraph| {
            EntryCosts::new(checked.graph(), &Target::ascend_a3()).phase_time(checked.graph(), combine).0
        };
        // The router's weights are read once per tile either way and are scaled with it.
        assert!(time(&wide).abs_diff(time(&exact)) * 20 < time(&exact));
    }
}
