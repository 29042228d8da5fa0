//! The time of entries on a target when tokens are spread evenly over the experts.
//!
//! It decides the order of entries and how vector cores are divided. Times are modelled, never measured. The time of a tile is the
//! simulator's time for a tile that runs alone.

use super::Role;
use super::fences::may_share_next_fence;
use crate::cost::{self, Works};
use crate::graph::{SpaceKind, TaskGraph};
use crate::ids::{Arena, PhaseId};
use crate::target::Target;
use crate::units::Nanos;
use hpmoe_kernels::op::TaskKind;

/// Picoseconds of a nanosecond.
const PS: u64 = 1_000;

/// A large number of rows of an expert. Costs that don't grow with the rows are negligible compared with the time of this many rows.
pub(super) const MANY_ROWS: u64 = 1 << 16;

/// The modelled times of the entries of a graph.
pub(super) struct EntryCosts {
    phases: Arena<PhaseId, PhaseCost>,
    /// Time of each tile in addition to its work.
    overhead: Nanos,
    /// Time from a signal to the moment at which a waiting core sees it.
    pub(super) visible: Nanos,
    /// Time from the end of a put until its rows are known to have arrived.
    fence: Nanos,
    /// Time from the beginning of a put to the first byte.
    put_start: Nanos,
    /// Bandwidth of a die's link to other packages, divided by that of the puts of one core.
    link_over_put: f64,
}

#[derive(Clone, Copy)]
struct PhaseCost {
    /// Picoseconds of a full tile, without the overhead of a tile.
    tile_ps: u64,
    /// Picoseconds of a tile of a whole expert that don't depend on its rows, in addition to `tile_ps`: the time of the matrices that a
    /// vector task processes.
    fixed_ps: u64,
    full_rows: u64,
    columns: u64,
    kind: SpaceKind,
    /// Whether the phase puts to other ranks.
    remote: bool,
    /// Whether the next phase probably has the fence of this phase's puts.
    leaves_fence: bool,
}

impl EntryCosts {
    pub(super) fn new(graph: &TaskGraph, target: &Target) -> Self {
        let costs = cost::CostModel::new(target);
        let works = Works::of_phases(graph);
        let phases = graph.phases.iter().map(|(id, phase)| {
            let (kind, task) = (graph.spaces[phase.space].kind, graph.tasks[phase.task].kind);
            let [full, none] = [works[id].full_rows(), 0].map(|rows| works[id].alone(target, &costs, rows).0);
            let fixed_ps = if (kind, task) == (SpaceKind::Experts, TaskKind::Vector) { none } else { 0 };
            PhaseCost {
                tile_ps: full - fixed_ps,
                fixed_ps,
                full_rows: u64::from(works[id].full_rows()),
                columns: u64::from(phase.columns()),
                kind,
                remote: phase.accesses.iter().any(|access| access.remote),
                leaves_fence: may_share_next_fence(graph, id),
            }
        });
        let nanos = |ns: f64| Nanos(ns.round() as u64);
        Self {
            phases: phases.collect(),
            overhead: nanos(target.sync.task_pickup_ns + target.sync.tile_overhead_ns),
            visible: nanos(target.sync.counter_visible_ns),
            fence: nanos(target.sync.fence_remote_ns),
            put_start: nanos(target.sync.put_start_ns),
            link_over_put: target.link.other_package_gb_per_s / target.link.put_gb_per_s_per_aiv,
        }
    }

    /// Time on one core for `rows` rows in `groups` groups of a phase.
    pub(super) fn core_time(&self, phase: PhaseId, rows: u64, groups: u64) -> Nanos {
        let PhaseCost { tile_ps, fixed_ps, full_rows, columns, kind, .. } = self.phases[phase];
        let tiles = columns * if kind == SpaceKind::Experts { groups } else { rows.div_ceil(full_rows) };
        Nanos((tile_ps * columns * rows / full_rows + fixed_ps * tiles) / PS) + self.overhead * tiles
    }

    /// Time on a link to another package for `rows` rows of a phase of puts.
    pub(super) fn link_time(&self, phase: PhaseId, rows: u64) -> Nanos {
        let PhaseCost { tile_ps, full_rows, columns, .. } = self.phases[phase];
        let all = tile_ps as f64 * (rows * columns) as f64 / full_rows as f64;
        Nanos((all / self.link_over_put / 1_000.0) as u64)
    }

    /// Number of tiles of a phase on one rank, when tokens are spread evenly and an expert has no short tiles.
    pub(super) fn phase_tiles(&self, graph: &TaskGraph, phase: PhaseId) -> u64 {
        let PhaseCost { full_rows, columns, .. } = self.phases[phase];
        self.phase_rows(graph, phase).div_ceil(full_rows) * columns
    }

    /// Number of rows of a phase on one rank, when tokens are spread evenly.
    fn phase_rows(&self, graph: &TaskGraph, phase: PhaseId) -> u64 {
        let rows = match self.phases[phase].kind {
            SpaceKind::Chunks => graph.sizes.chunks,
            SpaceKind::Blocks => graph.sizes.tokens,
            _ => graph.sizes.tokens * graph.sizes.top_k,
        };
        rows as u64
    }

    /// Time on one core for all entries of a phase.
    pub(super) fn phase_time(&self, graph: &TaskGraph, ranks: u32, phase: PhaseId) -> Nanos {
        self.core_time(phase, self.phase_rows(graph, phase), graph.sizes.expert_chunks(ranks as usize) as u64)
    }

    /// Time on one core for all puts of a phase. If pieces are small, it includes a fence for each put, which then takes most of the time.
    pub(super) fn put_time(&self, graph: &TaskGraph, ranks: u32, phase: PhaseId) -> Nanos {
        match self.phases[phase].kind.by_peer() && self.has_small_pieces(graph, phase) {
            true => self.pieces_time(graph, ranks, phase),
            false => self.phase_time(graph, ranks, phase),
        }
    }

    /// Number of vector cores that fill the link with puts of a phase; more cores would put no faster. While a core waits until its rows
    /// have arrived, other cores can use the link.
    pub(super) fn put_cores(&self, graph: &TaskGraph, phase: PhaseId) -> u32 {
        let PhaseCost { tile_ps, full_rows, .. } = self.phases[phase];
        let rows = (graph.sizes.chunk_tokens() * graph.sizes.top_k).div_ceil(graph.sizes.experts) as u64;
        let put = tile_ps * rows.min(full_rows) / full_rows / PS;
        let paused = (self.fence + self.overhead).0;
        (self.link_over_put * (put + paused) as f64 / put as f64).ceil() as u32
    }

    /// Whether an expert's rows for one peer are fewer than those of four full puts of a phase.
    pub(super) fn has_few_pieces(&self, graph: &TaskGraph, phase: PhaseId) -> bool {
        self.entry_rows(graph, 1, phase) < 4 * self.phases[phase].full_rows
    }

    /// Whether most pieces of a phase have fewer rows than one put can move.
    fn has_small_pieces(&self, graph: &TaskGraph, phase: PhaseId) -> bool {
        let rows = graph.sizes.chunk_tokens() * graph.sizes.top_k;
        (rows as u64) < self.phases[phase].full_rows * graph.sizes.experts as u64
    }

    /// Time on one core for all pieces of a phase of puts, when tokens are spread evenly.
    fn pieces_time(&self, graph: &TaskGraph, ranks: u32, phase: PhaseId) -> Nanos {
        let PhaseCost { tile_ps, full_rows, columns, leaves_fence, .. } = self.phases[phase];
        let sizes = &graph.sizes;
        let pairs = (sizes.expert_chunks(ranks as usize) * ranks as usize) as u64;
        let rows = match self.phases[phase].kind {
            SpaceKind::SendsOnce => sizes.rows_once(ranks as usize),
            _ => (sizes.tokens * sizes.top_k) as u64,
        };
        // If there are fewer rows than pairs, some pairs have a piece of one row, and the others have none.
        let pieces = rows.min(pairs * rows.div_ceil(pairs * full_rows)) * columns;
        let fence = if leaves_fence { Nanos(0) } else { self.fence };
        let each = self.overhead + self.put_start + fence;
        Nanos(tile_ps * columns * rows / full_rows / PS) + each * pieces
    }

    /// Time from the start of an entry of the phase to its end. Its tiles are dealt to the cores that share its queue.
    pub(super) fn entry_time(&self, graph: &TaskGraph, role: &Role, ranks: u32, phase: PhaseId) -> Nanos {
        let cost = self.phases[phase];
        // A tile runs on a single core.
        let rows = self.entry_rows(graph, ranks, phase).min(cost.full_rows);
        let longest_tile = Nanos((cost.tile_ps * rows / cost.full_rows + cost.fixed_ps) / PS);
        self.entry_share(graph, role, ranks, phase).max(longest_tile + self.overhead)
    }

    /// Average time that each core spends on an entry of the phase.
    pub(super) fn entry_share(&self, graph: &TaskGraph, role: &Role, ranks: u32, phase: PhaseId) -> Nanos {
        let time = self.core_time(phase, self.entry_rows(graph, ranks, phase), 1);
        let share = Nanos(time.0.div_ceil(u64::from(role.count)));
        if !self.phases[phase].remote {
            return share;
        }
        // More putting cores don't make the link faster.
        share.max(self.link_time(phase, self.entry_rows(graph, ranks, phase)))
    }

    /// Tiles of an entry when tokens are spread evenly.
    pub(super) fn entry_tiles(&self, graph: &TaskGraph, ranks: u32, phase: PhaseId) -> u64 {
        let PhaseCost { full_rows, columns, .. } = self.phases[phase];
        self.entry_rows(graph, ranks, phase).div_ceil(full_rows) * columns
    }

    /// Rows of an entry when tokens are spread evenly.
    fn entry_rows(&self, graph: &TaskGraph, ranks: u32, phase: PhaseId) -> u64 {
        let sizes = &graph.sizes;
        let (tokens, experts) = (sizes.chunk_tokens(), sizes.used_experts(ranks as usize));
        let rows = match self.phases[phase].kind {
            SpaceKind::Chunks => 1,
            SpaceKind::Blocks => tokens,
            SpaceKind::RowTiles | SpaceKind::OnceTiles | SpaceKind::Experts => {
                (tokens * sizes.top_k * ranks as usize).div_ceil(experts)
            }
            SpaceKind::SendsOnce => (sizes.rows_once(ranks as usize) as usize).div_ceil(experts),
            SpaceKind::Sends | SpaceKind::Arrivals => (tokens * sizes.top_k).div_ceil(experts),
        };
        rows as u64
    }
}

#[cfg(test)]
mod tests;
