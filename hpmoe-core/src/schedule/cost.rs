//! A small cost table: how long an entry keeps its role busy when tokens are spread evenly over the experts.
//!
//! It orders entries and splits the vector cores; the times are modelled, never measured. Constants are those of one
//! Ascend A3 die; `ini` is CANN's platform configuration.

use super::{Entry, Role};
use crate::graph::{Columns, Phase, SpaceKind, TaskGraph};
use crate::ids::{Arena, PhaseId, RoleId};
use crate::units::Nanos;
use hpmoe_kernels::op::{Core, Work};

/// Cube: 16x16x16 bf16 multiply-adds a cycle (ini) at 1.85 GHz (ini), of which a fused GEMM reaches 86.25 % (fitted to
/// published latencies).
const CUBE_FLOP_PER_US: u64 = 8_192 * 1_850 * 8_625 / 10_000;
/// One AIV, SwiGLU-like, bytes read and written (assumed).
const VECTOR_BYTES_PER_US: u64 = 50_000;
/// One AIV putting to a peer (assumed: about half of the AIVs fill the link).
const PUT_BYTES_PER_US: u64 = 10_000;
/// A die's link to other packages, each way (published by its communication library).
const LINK_BYTES_PER_US: u64 = 196_000;
/// Pickup, check of waits, signal (assumed).
const TILE_OVERHEAD: Nanos = Nanos(200);
/// From a signal to the moment at which a waiting core sees it (measured).
pub(super) const COUNTER_VISIBLE: Nanos = Nanos(1_000);

/// After a put, until its rows are known to have arrived (assumed).
const FENCE: Nanos = Nanos(1_900);

/// What the phases of a graph cost on one core.
pub(super) struct Costs {
    phases: Arena<PhaseId, PhaseCost>,
}

#[derive(Clone, Copy)]
struct PhaseCost {
    /// Picoseconds of a tile with all its rows, without overhead.
    tile_ps: u64,
    height: u64,
    columns: u64,
    kind: SpaceKind,
}

impl Costs {
    pub(super) fn new(graph: &TaskGraph) -> Self {
        let phases = graph.phases.iter().map(|(_, phase)| PhaseCost {
            tile_ps: tile_ps(graph, phase),
            height: u64::from(graph.spaces[phase.space].height),
            columns: u64::from(phase.columns()),
            kind: graph.spaces[phase.space].kind,
        });
        Self { phases: phases.collect() }
    }

    /// Time on one core for that many rows of a phase.
    fn core_time(&self, phase: PhaseId, rows: u64) -> Nanos {
        let PhaseCost { tile_ps, height, columns, .. } = self.phases[phase];
        let tiles = rows.div_ceil(height) * columns;
        Nanos(tile_ps * columns * rows / height / 1_000) + TILE_OVERHEAD * tiles
    }

    /// Time on one core for all entries of a phase.
    pub(super) fn phase_time(&self, graph: &TaskGraph, phase: PhaseId) -> Nanos {
        let all = match self.phases[phase].kind {
            SpaceKind::Blocks => graph.sizes.tokens,
            _ => graph.sizes.tokens * graph.sizes.top_k,
        };
        self.core_time(phase, all as u64)
    }

    /// Vector cores that fill the link with puts of a phase: more of them put no faster. While one waits for its rows to
    /// have arrived, it leaves the link to others.
    pub(super) fn put_cores(&self, phase: PhaseId) -> u32 {
        let put = Nanos(self.phases[phase].tile_ps / 1_000).0.max(1);
        let paused = (FENCE + TILE_OVERHEAD).0;
        (LINK_BYTES_PER_US * (put + paused)).div_ceil(PUT_BYTES_PER_US * put).min(u64::from(u32::MAX)) as u32
    }

    /// From the beginning of an entry of the phase to its end: its tiles go round among the role's cores.
    pub(super) fn entry_time(&self, graph: &TaskGraph, role: &Role, ranks: u32, phase: PhaseId) -> Nanos {
        let cost = self.phases[phase];
        // No tile is shared by two cores.
        let rows = self.entry_rows(graph, ranks, phase).min(cost.height);
        let one = Nanos(cost.tile_ps * rows / cost.height / 1_000);
        self.entry_share(graph, role, ranks, phase).max(one + TILE_OVERHEAD)
    }

    /// How much of the role's time an entry of the phase takes up.
    fn entry_share(&self, graph: &TaskGraph, role: &Role, ranks: u32, phase: PhaseId) -> Nanos {
        let time = self.core_time(phase, self.entry_rows(graph, ranks, phase));
        Nanos(time.0.div_ceil(u64::from(role.count.max(1))))
    }

    /// Rows of an entry when tokens are spread evenly.
    fn entry_rows(&self, graph: &TaskGraph, ranks: u32, phase: PhaseId) -> u64 {
        let sizes = &graph.sizes;
        let rows = match self.phases[phase].kind {
            SpaceKind::Blocks => sizes.tokens,
            SpaceKind::RowTiles => (sizes.tokens * sizes.top_k * ranks as usize).div_ceil(sizes.experts),
            SpaceKind::Sends | SpaceKind::Arrivals => (sizes.tokens * sizes.top_k).div_ceil(sizes.experts),
        };
        rows as u64
    }
}

/// Times of all entries of a rank, by phase.
pub(super) fn entry_times(
    graph: &TaskGraph,
    costs: &Costs,
    roles: &Arena<RoleId, Role>,
    role_of: &Arena<PhaseId, RoleId>,
    ranks: u32,
) -> impl Fn(Entry) -> Nanos {
    let times: Arena<PhaseId, Nanos> =
        (graph.phases.ids()).map(|phase| costs.entry_time(graph, &roles[role_of[phase]], ranks, phase)).collect();
    move |entry| times[entry.phase]
}

/// What entries of a rank take up of their roles' time, by phase.
pub(super) fn entry_shares(
    graph: &TaskGraph,
    costs: &Costs,
    roles: &Arena<RoleId, Role>,
    role_of: &Arena<PhaseId, RoleId>,
    ranks: u32,
) -> impl Fn(Entry) -> Nanos {
    let shares: Arena<PhaseId, Nanos> =
        (graph.phases.ids()).map(|phase| costs.entry_share(graph, &roles[role_of[phase]], ranks, phase)).collect();
    move |entry| shares[entry.phase]
}

/// Picoseconds of a tile with all its rows and the columns that the tensor really has.
fn tile_ps(graph: &TaskGraph, phase: &Phase) -> u64 {
    let task = &graph.tasks[phase.task];
    let shapes = task.shapes();
    let work = task.body.steps.iter().fold(Work::default(), |sum, step| {
        let operands: Vec<_> = step.operands.iter().map(|&operand| shapes[operand]).collect();
        let work = (step.operation.work)(&operands, &step.result);
        Work {
            cube_flops: sum.cube_flops + work.cube_flops,
            vector_bytes: sum.vector_bytes + work.vector_bytes,
            moved_bytes: sum.moved_bytes + work.moved_bytes,
        }
    });
    let (amount, per_us) = match task.core {
        Core::Cube => (work.cube_flops, CUBE_FLOP_PER_US),
        Core::Vector => (work.moved_bytes, VECTOR_BYTES_PER_US),
        Core::Comm => (work.moved_bytes, PUT_BYTES_PER_US),
    };
    let (real, nominal) = columns(graph, phase);
    amount * 1_000_000 / per_us * real / nominal
}

/// Columns that a phase writes: those of the tensor, and those of all its tiles.
fn columns(graph: &TaskGraph, phase: &Phase) -> (u64, u64) {
    let written = phase.accesses.iter().filter(|access| access.write);
    let cut = written.filter_map(|access| match access.region.columns {
        Columns::Tile { range: Some(range), width, .. } => {
            let nominal = u64::from(width) * u64::from(phase.ranges[range as usize]);
            Some((u64::from(graph.tensors[access.tensor].columns).min(nominal), nominal))
        }
        _ => None,
    });
    cut.fold((1, 1), |widest, cut| if cut.1 > widest.1 { cut } else { widest })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Id;
    use crate::schedule::fixture::{Layer, moe_ffn};

    #[test]
    fn deepseek_projections_take_what_the_cube_allows() {
        let checked = moe_ffn(&Layer::DEEPSEEK);
        let graph = checked.graph();
        let costs = Costs::new(graph);
        let matrix: u64 = [1, 2, 4].map(|p| costs.phase_time(graph, PhaseId::new(p)).0).iter().sum();
        // 6 * H * I * rows over 24 cores at 86.25 % of peak is 9.2 ms; tiles add 200 ns each.
        let ms = matrix as f64 / 24.0 / 1e6;
        assert!((9.2..9.5).contains(&ms), "{ms} ms");
    }

    #[test]
    fn a_narrow_last_tile_costs_what_it_holds() {
        let wide = moe_ffn(&Layer { columns: 4096, ..Layer::SMALL });
        let exact = moe_ffn(&Layer { columns: 128, ..Layer::SMALL });
        let combine = PhaseId::new(6);
        let time =
            |checked: &crate::analyze::CheckedGraph| Costs::new(checked.graph()).phase_time(checked.graph(), combine).0;
        // The router's weights are read once per tile either way and are scaled with it.
        assert!(time(&wide).abs_diff(time(&exact)) * 20 < time(&exact));
    }
}
