//! The memory of a rank, as a function of the rows that it may receive.

use super::shape::{kernel_shape, kernel_sizes};
use crate::analyze::CheckedGraph;
use crate::graph::TaskGraph;
use crate::schedule::{Order, Schedule};
use crate::units::Bytes;
use hpmoe_kernels::memory::{MemoryPlan, RankSizes, Word, default_capacity};

/// Bytes of a descriptor, as `abi.h` lays it out.
const DESCRIPTOR: u64 = 64;

/// The memory of one rank, in bytes and in counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Footprint {
    /// Maximum number of rows that the rank may receive in each chunk.
    pub rows: u64,
    /// Number of counters in one of the two sets, which launches use alternately.
    pub counters: u64,
    /// Bytes of both sets of counters together.
    pub counter_bytes: Bytes,
    /// Bytes of the tensors in the rank's workspace.
    pub workspace: Bytes,
    /// Bytes of the tensors in the symmetric heap.
    pub symmetric: Bytes,
    /// Number of descriptors in all queues of the rank, once for all cores of a part.
    pub descriptors: u64,
    /// Bytes of the descriptors.
    pub descriptor_bytes: Bytes,
}

/// The memory that each of `ranks` ranks needs when it may receive `rows` rows of each chunk.
#[must_use]
pub fn footprint(checked: &CheckedGraph, schedule: &Schedule, ranks: u32, rows: u64) -> Footprint {
    let graph = checked.graph();
    let shape = kernel_shape(checked, schedule, false);
    let plan = MemoryPlan::new(&shape, &RankSizes::new(&shape.sizes, ranks as usize, Some(rows as usize), false));
    let of_order = |order: &Order| {
        let of_queue = |part| {
            let [unrouted, routed] = schedule.ranges_of(graph, order, part).map(|ranges| ranges.len() as u64);
            unrouted + u64::from(order.routed_at.is_some()) + routed
        };
        order.queues.ids().map(of_queue).sum()
    };
    let descriptors = schedule.order(ranks).map_or(0, of_order);
    Footprint {
        rows,
        counters: plan.counters.count.into(),
        counter_bytes: Bytes(plan.bytes(Word::Counters) as u64),
        workspace: Bytes(plan.workspace as u64),
        symmetric: Bytes(plan.heap_tensors() as u64),
        descriptors,
        descriptor_bytes: Bytes(DESCRIPTOR) * descriptors,
    }
}

/// The capacity of a rank unless a group sets another: the maximum number of rows of a chunk that any routing sends to it. If launches
/// choose the number of chunks, the capacity is limited to 1.5 times `TOKENS * TOP_K` rows, or to 4,096 rows if that is more.
#[must_use]
pub fn default_rows(graph: &TaskGraph, ranks: u32) -> u64 {
    default_capacity(&kernel_sizes(graph), ranks as usize) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Layer, chunked, moe_ffn, once};
    use crate::graph::{RowKind, Storage};
    use crate::schedule::{Cores, schedule};
    use hpmoe_kernels::route::KeptWords;

    #[test]
    fn deepseek_on_eight_ranks() {
        let checked = moe_ffn(&Layer::DEEPSEEK);
        let schedule = schedule(&checked, Cores::ASCEND_A3);
        let balanced = footprint(&checked, &schedule, 8, 4096 * 8);
        // out: 7168, g, u and h: 2048 columns of bf16.
        assert_eq!(balanced.workspace, Bytes((7168 + 3 * 2048) * 2 * 32_768));
        // recv and back: 7168 columns; (token, k): 4 bytes.
        assert_eq!(balanced.symmetric, Bytes((2 * 7168 * 2 + 4) * 32_768));
        // For 264 row tiles: one counter each for recv, h and out, and one for each of u's 8 columns. Also 256 token
        // blocks.
        assert_eq!(balanced.counters, 264 * (3 + 8) + 256);
        assert_eq!(balanced.counter_bytes, Bytes(balanced.counters * 1024));
        assert_eq!((balanced.descriptors, balanced.descriptor_bytes), (41, Bytes(41 * 64)));
        assert_eq!(default_rows(checked.graph(), 8), 8 * 4096 * 8);
        assert_eq!(default_rows(checked.graph(), 64), 64 * 4096);
    }

    #[test]
    fn a_rank_receives_each_token_once_at_most() {
        let checked = once(&Layer::DEEPSEEK);
        let schedule = schedule(&checked, Cores::ASCEND_A3);
        let symmetric = |rows| footprint(&checked, &schedule, 8, rows).symmetric;
        let row = Bytes(7168 * 2);
        // The tensor of returned rows has a row for each token and expert.
        assert_eq!(symmetric(0), row * (4096 * 8));
        assert_eq!(symmetric(1000), symmetric(0) + row * 1000);
        assert_eq!(symmetric(4096 * 8 * 8), symmetric(0) + row * (4096 * 8));
        // Two of four chunks are in memory.
        let mut graph = checked.graph().clone();
        graph.sizes.chunks = 4;
        let chunked = CheckedGraph::for_tests(graph, checked.counters().clone(), Vec::new());
        let of_chunks = |rows| footprint(&chunked, &schedule, 8, rows).symmetric;
        assert_eq!(of_chunks(1000), of_chunks(0) + row * 2000);
        assert_eq!(of_chunks(4096 * 8 * 8), of_chunks(0) + row * (2 * 1024 * 8));
    }

    #[test]
    fn a_rank_has_its_own_experts_matrices_and_no_descriptors_without_an_order() {
        let checked = moe_ffn(&Layer::SMALL);
        let made = schedule(&checked, Cores::ASCEND_A3);
        let weights = checked.graph().tensors.position(|tensor| matches!(tensor.rows, RowKind::Expert(_))).unwrap();
        let workspace = |rows: Option<RowKind>| {
            let mut graph = checked.graph().clone();
            if let Some(rows) = rows {
                graph.tensors[weights].rows = rows;
                graph.tensors[weights].storage = Storage::Workspace;
            }
            let checked = CheckedGraph::for_tests(graph, checked.counters().clone(), Vec::new());
            footprint(&checked, &made, 4, 100).workspace
        };
        let row = Bytes(u64::from(checked.graph().tensors[weights].pitch) * 2);
        assert_eq!(workspace(Some(RowKind::Expert(32))), workspace(None) + row * (16 / 4 * 32));
        assert_eq!(workspace(Some(RowKind::Matrix(32))), workspace(None) + row * 32);
        let kept = KeptWords::new(4, 16, Layer::SMALL.top_k, 1, Layer::SMALL.tokens).end as u64;
        assert_eq!(workspace(Some(RowKind::Routed)), workspace(None) + row * kept);
        assert_eq!(footprint(&checked, &made, 3, 100).descriptors, 0);
    }

    #[test]
    fn chunks_have_memory_for_two_of_them() {
        let footprint_of = |chunks: usize| {
            let checked = chunked(&Layer::DEEPSEEK, chunks);
            let rows = default_rows(checked.graph(), 8);
            (rows, footprint(&checked, &schedule(&checked, Cores::ASCEND_A3), 8, rows))
        };
        let (rows, four) = footprint_of(4);
        assert_eq!(rows, 8 * 1024 * 8);
        // As above, and one row of 7168 columns for each token.
        assert_eq!(four.workspace, Bytes((7168 + 3 * 2048) * 2 * 2 * rows + 7168 * 2 * 2 * 1024));
        assert_eq!(four.symmetric, Bytes(2 * (7168 * 2 + 4) * rows + 7168 * 2 * 2 * 1024 * 8));
        let (_, whole) = footprint_of(1);
        let tensor_bytes = |footprint: &Footprint| footprint.workspace + footprint.symmetric;
        assert_eq!(tensor_bytes(&footprint_of(2).1), tensor_bytes(&whole));
        assert_eq!(tensor_bytes(&four) + tensor_bytes(&four), tensor_bytes(&whole));
        let eight = footprint_of(8).1;
        assert_eq!(tensor_bytes(&eight) + tensor_bytes(&eight), tensor_bytes(&four));
    }
}
