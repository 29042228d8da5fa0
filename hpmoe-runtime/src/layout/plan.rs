//! The layout of the workspace and the symmetric heap.

use super::route::count_pitch;
use super::{CounterNumbers, RankSizes};
use crate::KernelTables;
use crate::abi::{HPMOE_DIGEST_WORDS, LINE};
use crate::memory::OffsetAllocator;
use crate::tables::{Storage, TensorTable};

/// Where tensors, counters and words lie, on every rank alike. Offsets are bytes, multiples of a line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct MemoryPlan {
    /// Offset of each tensor in the workspace or the heap; zero for arguments that have no part there.
    pub(crate) tensors: Vec<usize>,
    /// The numbers of the counters in a set.
    pub(crate) counters: CounterNumbers,
    /// Offset of the two sets of counters in the heap. What follows starts as zeros.
    pub(crate) counters_at: usize,
    /// Offset in the heap of the launch word of each core.
    pub(crate) launches_at: usize,
    /// Offset of the ready words in the heap, one for each peer.
    pub(crate) ready_at: usize,
    /// Offset of the freed words in the heap, one for each peer if chunks reuse memory.
    pub(crate) freed_at: usize,
    /// Offset in the heap of the counts that ranks exchange where the kernel makes its route.
    pub(crate) counts_at: usize,
    /// Bytes of these counts: two halves, with those of each rank.
    pub(crate) count_bytes: usize,
    /// Offset in the heap of the digests of placements that ranks exchange where the kernel makes its route.
    pub(crate) digests_at: usize,
    /// Bytes of these digests: two halves, with a block of each rank.
    pub(crate) digest_bytes: usize,
    /// Offset in the heap of the words by which ranks compare their clocks, one for each peer if cores keep time stamps.
    pub(crate) clocks_at: usize,
    /// Offset of the abort word in the heap.
    pub(crate) abort_at: usize,
    /// Offset in the heap of the word that ends all running launches, of which rank 0's is used if ranks are processes.
    pub(crate) stop_at: usize,
    /// Bytes of the heap.
    pub(crate) heap: usize,
    /// Bytes of the workspace.
    pub(crate) workspace: usize,
}

impl MemoryPlan {
    /// Lays out the memory of a kernel for a group.
    pub(crate) fn new(tables: &KernelTables, sizes: &RankSizes) -> Self {
        let (mut heap, mut workspace) = (OffsetAllocator::default(), OffsetAllocator::default());
        let tensors = tables
            .tensors
            .iter()
            .map(|tensor| match tensor.storage {
                Storage::Shared(_) if sizes.processes => {
                    heap.take(sizes.caller_rows(tensor.row_kind).saturating_mul(row_bytes(tensor)))
                }
                Storage::Argument(_) | Storage::Shared(_) => 0,
                Storage::Workspace => workspace.take(sizes.rows(tensor.row_kind).saturating_mul(row_bytes(tensor))),
                Storage::Symmetric => heap.take(sizes.rows(tensor.row_kind).saturating_mul(row_bytes(tensor))),
            })
            .collect();
        let counters = CounterNumbers::new(tables.counters, tables.spaces, sizes);
        let counters_at = heap.take(2 * counters.count as usize * LINE);
        let launches_at = heap.take(launch_word_bytes(tables));
        let ready_at = heap.take(sizes.ranks * LINE);
        let freed_at = heap.take(sizes.freed_words() * LINE);
        let count_bytes =
            tables.route.map_or(0, |_| 2 * sizes.ranks * count_pitch(tables, sizes.ranks) * size_of::<i32>());
        let counts_at = heap.take(count_bytes);
        let clocks_at = heap.take(clock_word_bytes(tables, sizes.ranks));
        let abort_at = heap.take(LINE);
        let stop_at = heap.take(if sizes.processes { LINE } else { 0 });
        let digest_bytes = tables.route.map_or(0, |_| 2 * sizes.ranks * DIGEST_BYTES);
        let digests_at = heap.take(digest_bytes);
        Self {
            tensors,
            counters,
            counters_at,
            launches_at,
            ready_at,
            freed_at,
            counts_at,
            count_bytes,
            digests_at,
            digest_bytes,
            clocks_at,
            abort_at,
            stop_at,
            heap: heap.end(),
            workspace: workspace.end(),
        }
    }

    /// Bytes of both sets of counters.
    pub(crate) const fn counter_bytes(&self) -> usize {
        2 * self.counters.count as usize * LINE
    }
}

/// Bytes of a rank's digest, a block.
const DIGEST_BYTES: usize = HPMOE_DIGEST_WORDS as usize * size_of::<i32>();

/// Bytes of the launch words of a rank.
pub(crate) const fn launch_word_bytes(tables: &KernelTables) -> usize {
    (tables.aic + tables.aiv) as usize * LINE
}

/// Bytes of the words by which the ranks of a group compare their clocks.
pub(crate) const fn clock_word_bytes(tables: &KernelTables, ranks: usize) -> usize {
    if tables.time_stamps { ranks * LINE } else { 0 }
}

/// Bytes from one row of a tensor to the next.
pub(crate) const fn row_bytes(tensor: &TensorTable) -> usize {
    tensor.pitch as usize * tensor.element.bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::RowKind;
    use crate::testing::{TABLES, tensor};
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn nothing_overlaps_and_all_starts_on_a_line(
            ranks in 1_usize..=8,
            tokens in 0_usize..200,
            chunks in 1_usize..4,
            capacity in 0_usize..500,
            kinds in prop::collection::vec((0..4_usize, any::<bool>(), 1_u32..2000), 0..8),
        ) {
            let tensors: Vec<TensorTable> = kinds
                .iter()
                .map(|&(kind, symmetric, columns)| {
                    let row_kinds = [RowKind::Token, RowKind::Slot, RowKind::Received, RowKind::Expert(24)];
                    let storage = if symmetric { Storage::Symmetric } else { Storage::Workspace };
                    TensorTable { columns, pitch: columns.next_multiple_of(256), ..tensor("t", row_kinds[kind], storage) }
                })
                .collect();
            let tables = KernelTables { tensors: tensors.leak(), ..TABLES };
            let sizes = RankSizes { ranks, experts: 2 * ranks, local_experts: 2, top_k: 2, chunks, chunk_tokens: tokens, capacity, processes: false };
            let plan = MemoryPlan::new(&tables, &sizes);
            for storage in [Storage::Symmetric, Storage::Workspace] {
                let mut spans: Vec<(usize, usize)> = tables
                    .tensors
                    .iter()
                    .zip(&plan.tensors)
                    .filter(|(t, _)| t.storage == storage)
                    .map(|(t, at)| (*at, sizes.rows(t.row_kind) * row_bytes(t)))
                    .collect();
                let mut end = plan.workspace;
                if storage == Storage::Symmetric {
                    end = plan.heap;
                    spans.push((plan.counters_at, plan.counter_bytes()));
                    spans.push((plan.launches_at, launch_word_bytes(&tables)));
                    spans.push((plan.ready_at, ranks * LINE));
                    spans.push((plan.freed_at, sizes.freed_words() * LINE));
                    spans.push((plan.abort_at, LINE));
                }
                spans.sort_unstable();
                prop_assert!(spans.iter().all(|(at, _)| at % LINE == 0));
                prop_assert!(spans.windows(2).all(|pair| pair[0].0 + pair[0].1 <= pair[1].0), "{spans:?}");
                prop_assert!(spans.last().is_none_or(|(at, bytes)| at + bytes <= end));
            }
        }
    }
}
