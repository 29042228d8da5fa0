//! Workspace and symmetric heap.

use super::{Counters, Sizes};
use crate::KernelTables;
use crate::abi::LINE;
use crate::memory::Cursor;
use crate::tables::{Storage, TensorTable};

/// Where tensors, counters and words lie, on every rank alike. Offsets are bytes, multiples of a line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Plan {
    /// Of each tensor, in the workspace or the heap; zero for arguments.
    pub(crate) tensors: Vec<usize>,
    /// Counters of a set.
    pub(crate) counters: Counters,
    /// Two sets of counters, in the heap.
    pub(crate) counters_at: usize,
    /// A word per peer, in the heap.
    pub(crate) ready_at: usize,
    /// Another one, where chunks take memory in turn.
    pub(crate) freed_at: usize,
    /// One word, in the heap.
    pub(crate) abort_at: usize,
    /// Bytes of the heap.
    pub(crate) heap: usize,
    /// Bytes of the workspace.
    pub(crate) workspace: usize,
}

impl Plan {
    /// For a kernel and a group.
    pub(crate) fn new(tables: &KernelTables, sizes: &Sizes) -> Self {
        let (mut heap, mut workspace) = (Cursor::default(), Cursor::default());
        let tensors = tables
            .tensors
            .iter()
            .map(|tensor| match tensor.memory {
                Storage::Argument(_) | Storage::Shared(_) => 0,
                Storage::Workspace => workspace.take(sizes.rows(tensor.extent).saturating_mul(row_bytes(tensor))),
                Storage::Symmetric => heap.take(sizes.rows(tensor.extent).saturating_mul(row_bytes(tensor))),
            })
            .collect();
        let counters = Counters::new(tables.counters, tables.spaces, sizes);
        let counters_at = heap.take(2 * counters.count as usize * LINE);
        let ready_at = heap.take(sizes.ranks * LINE);
        let freed_at = heap.take(sizes.freed_words() * LINE);
        let abort_at = heap.take(LINE);
        Self {
            tensors,
            counters,
            counters_at,
            ready_at,
            freed_at,
            abort_at,
            heap: heap.end(),
            workspace: workspace.end(),
        }
    }

    /// Bytes of both sets of counters.
    pub(crate) const fn counter_bytes(&self) -> usize {
        2 * self.counters.count as usize * LINE
    }
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
                .map(|&(extent, symmetric, columns)| {
                    let extents = [RowKind::Token, RowKind::Slot, RowKind::Received, RowKind::Expert(24)];
                    let memory = if symmetric { Storage::Symmetric } else { Storage::Workspace };
                    TensorTable { columns, pitch: columns.next_multiple_of(256), ..tensor("t", extents[extent], memory) }
                })
                .collect();
            let tables = KernelTables { tensors: tensors.leak(), ..TABLES };
            let sizes = Sizes { ranks, local_experts: 2, top_k: 2, chunks, chunk_tokens: tokens, capacity };
            let plan = Plan::new(&tables, &sizes);
            for memory in [Storage::Symmetric, Storage::Workspace] {
                let mut spans: Vec<(usize, usize)> = tables
                    .tensors
                    .iter()
                    .zip(&plan.tensors)
                    .filter(|(t, _)| t.memory == memory)
                    .map(|(t, at)| (*at, sizes.rows(t.extent) * row_bytes(t)))
                    .collect();
                let mut end = plan.workspace;
                if memory == Storage::Symmetric {
                    end = plan.heap;
                    spans.push((plan.counters_at, plan.counter_bytes()));
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
