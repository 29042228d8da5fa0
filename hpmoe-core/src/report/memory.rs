//! The memory of a launch, and on-chip memory, for people.

use crate::analyze::CheckedGraph;
use crate::graph::TaskGraph;
use crate::ids::{Id as _, PhaseId, TensorId};
use crate::plan::OnChipMemory;
use crate::schedule::Schedule;
use crate::units::Bytes;
use crate::validate::kernel_shape;
use hpmoe_kernels::memory::{LaunchRows, MemoryTable, RankSizes};

/// The memory of a kernel in a group of `ranks` ranks. `rows` is the number of received rows of each chunk that a rank has room for; `None`
/// for the default of a group. `launch` gives the rows of the caller's tensors; `None` for the largest numbers. `processes` says whether
/// ranks are processes; if so, the caller's tensors that peers write are in the heap.
#[must_use]
pub fn memory_table(
    checked: &CheckedGraph,
    schedule: &Schedule,
    ranks: u32,
    rows: Option<u64>,
    launch: Option<LaunchRows>,
    processes: bool,
) -> MemoryTable {
    let shape = kernel_shape(checked, schedule, false);
    let sizes = RankSizes::new(&shape.sizes, ranks as usize, rows.map(|rows| rows as usize), processes);
    MemoryTable::new(&shape, &sizes, &launch.unwrap_or_else(|| LaunchRows::most(&sizes)))
}

/// The names of the calls that write a tensor, and the names of the calls that read it. The name `route` stands for the code that makes a
/// route.
#[must_use]
pub fn tensor_uses(graph: &TaskGraph, tensor: usize) -> (Vec<String>, Vec<String>) {
    let tensor = TensorId::new(tensor);
    let uses = |write: bool| {
        let of_phase = |id: PhaseId| {
            let phase = &graph.phases[id];
            let origins = phase.origins.is_some_and(|origins| origins.tensor == tensor && origins.write == write);
            origins || phase.accesses.iter().any(|access| access.tensor == tensor && access.write == write)
        };
        let made =
            graph.route.as_ref().filter(|route| if write { route.keeps == Some(tensor) } else { route.ids == tensor });
        let phases = graph.phases.ids().filter(|id| of_phase(*id)).map(|id| graph.phase_name(id));
        made.map(|_| "route".to_owned()).into_iter().chain(phases).collect()
    };
    (uses(true), uses(false))
}

/// Each on-chip memory that tasks use: its high-water mark, its capacity, and the task that reaches the mark.
#[must_use]
pub fn high_water(checked: &CheckedGraph) -> Vec<(OnChipMemory, Bytes, Bytes, &str)> {
    let mut marks: Vec<(OnChipMemory, Bytes, Bytes, &str)> = Vec::new();
    for (id, plan) in checked.plans().iter() {
        for (memory, used, capacity) in plan.used() {
            let here = (memory, used, capacity, checked.graph().tasks[id].label.as_str());
            match marks.binary_search_by_key(&memory, |mark| mark.0) {
                Ok(place) if used > marks[place].1 => marks[place] = here,
                Ok(_) => {}
                Err(place) => marks.insert(place, here),
            }
        }
    }
    marks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Layer, moe_ffn};
    use crate::schedule::{Cores, schedule};
    use crate::validate::{default_rows, footprint};
    use hpmoe_kernels::memory::MemoryPlace;

    #[test]
    fn the_table_is_what_a_group_allocates() {
        let checked = moe_ffn(&Layer::DEEPSEEK);
        let made = schedule(&checked, Cores::ASCEND_A3);
        let table = memory_table(&checked, &made, 8, None, None, false);
        let whole = footprint(&checked, &made, 8, default_rows(checked.graph(), 8));
        let words = table.lines.iter().filter(|line| line.place == MemoryPlace::Heap && line.tensor.is_none());
        let words: usize = words.map(|line| line.bytes).sum();
        assert_eq!(table.workspace as u64, whole.workspace.0);
        assert_eq!((table.heap - words) as u64, whole.symmetric.0);
        assert_eq!(table.bytes(MemoryPlace::Heap), table.heap);
        let balanced = memory_table(&checked, &made, 8, Some(4096 * 8), None, false);
        // out: 7168, g, u and h: 2048 columns of bf16.
        assert_eq!(balanced.workspace, (7168 + 3 * 2048) * 2 * 32_768);
    }

    #[test]
    fn tensors_have_writers_and_readers() {
        let checked = moe_ffn(&Layer::SMALL);
        let graph = checked.graph();
        let number = |name: &str| graph.tensors.position(|tensor| tensor.name == name).unwrap().index();
        let (writers, readers) = tensor_uses(graph, number("recv"));
        assert_eq!(writers, ["dispatch"]);
        assert_eq!(readers.len(), 2, "{readers:?}");
        // Ids are read by the making of the route.
        let made = crate::fixture::router(&Layer::TINY);
        let ids = made.graph().route.as_ref().unwrap().ids;
        assert_eq!(tensor_uses(made.graph(), ids.index()).1, ["route"]);
        // The compiler's own tensor is written by one put and read by another.
        let (writers, readers) = tensor_uses(graph, number("(token, k)"));
        assert_eq!((writers.len(), readers.len()), (1, 1));
    }
}
