//! The constants that determine the memory of a scheduled kernel.

use crate::analyze::{CheckedGraph, Grid};
use crate::collections::IdSet;
use crate::graph::{RowKind, Sizes, Space, TaskGraph, Tensor};
use crate::ids::CounterId;
use crate::schedule::Schedule;
use hpmoe_kernels::memory::{self, KernelShape, KernelSizes, SpaceTable, TensorShape};

/// The counter arrays that a schedule uses. Others take no memory.
pub(crate) fn used_counters(schedule: &Schedule) -> IdSet<CounterId> {
    let signals = schedule.signals().map(|signal| signal.counter);
    signals.chain(schedule.waits().map(|wait| wait.counter)).collect()
}

/// The sizes of the layer that a graph is compiled for.
#[must_use]
pub fn kernel_sizes(graph: &TaskGraph) -> KernelSizes {
    let Sizes { experts, spare, top_k, tokens, chunks, chunks_at_most } = graph.sizes;
    let groups = graph.route.as_ref().and_then(|route| route.groups).unwrap_or(1);
    let keeps = graph.tensors.iter().any(|(_, tensor)| tensor.rows == RowKind::Routed);
    let counts_parts = graph.route.is_some() && (keeps || graph.adds_by_parts());
    KernelSizes { experts, spare, top_k, tokens, chunks, chunks_at_most, groups, counts_parts }
}

/// The properties that determine the memory of a scheduled kernel, with or without time stamps. The runtime's tables contain them.
#[must_use]
pub fn kernel_shape<'a>(checked: &'a CheckedGraph, schedule: &Schedule, time_stamps: bool) -> KernelShape<'a> {
    let graph = checked.graph();
    let tensor = |tensor: &'a Tensor| TensorShape {
        name: &tensor.name,
        element: tensor.element,
        columns: tensor.columns,
        pitch: tensor.pitch,
        row_kind: tensor.rows,
        storage: tensor.storage,
        writable: tensor.writable,
    };
    let space = |space: &Space| SpaceTable { kind: space.kind.number(), height: space.height.number() };
    let used = used_counters(schedule);
    // The route's own counter follows those of the schedule.
    let of_route = graph.route.as_ref().map(|_| memory::Grid::Rank);
    KernelShape {
        sizes: kernel_sizes(graph),
        cores: (schedule.aic + schedule.aiv) as usize,
        time_stamps,
        makes_route: graph.route.is_some(),
        tensors: graph.tensors.iter().map(|(_, each)| tensor(each)).collect(),
        spaces: graph.spaces.iter().map(|(_, each)| space(each)).collect(),
        counters: used.iter().map(|id| grid(checked.counters()[id].grid)).chain(of_route).collect(),
    }
}

const fn grid(grid: Grid) -> memory::Grid {
    match grid {
        Grid::RowTiles { space, columns } => memory::Grid::RowTiles { space: space.0, columns },
        Grid::Experts => memory::Grid::Experts,
        Grid::Blocks { height } => memory::Grid::Blocks { height },
        Grid::Rank => memory::Grid::Rank,
    }
}
