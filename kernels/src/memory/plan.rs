//! The layout of the workspace and the symmetric heap.

use super::{CounterNumbers, KernelShape, LINE, RankSizes, Storage, TensorShape};
use crate::abi::HPMOE_DIGEST_WORDS;

/// Bytes of the digest of a rank's placement: one block.
const DIGEST_BYTES: usize = HPMOE_DIGEST_WORDS as usize * size_of::<i32>();

/// Kinds of words in the symmetric heap. They follow the heap's tensors, in this order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Word {
    /// The two sets of counters.
    Counters,
    /// The launch word of each core.
    Launches,
    /// The ready words, one per rank of the group.
    Ready,
    /// The freed words: one per rank of the group for each number of chunks, above
    /// [`CHUNK_BUFFERS`](super::CHUNK_BUFFERS), that launches can have.
    Freed,
    /// The counts that ranks exchange if the kernel makes its route: two halves, each with the counts of all ranks.
    Counts,
    /// The words with which ranks compare their clocks: one per rank of the group, if the kernel records time stamps.
    Clocks,
    /// The abort word.
    Abort,
    /// The word that stops all running launches if ranks are processes; only rank 0's word is used. If all ranks run in one process,
    /// there is no such word.
    Stop,
    /// The digests of placements that ranks exchange if the kernel makes its route (or, for kept routes, the numbers of the
    /// launches that kept them): two halves, each with a block for every rank.
    Digests,
}

impl Word {
    /// All words, in the order of their offsets.
    pub const ALL: [Self; 9] = [
        Self::Counters,
        Self::Launches,
        Self::Ready,
        Self::Freed,
        Self::Counts,
        Self::Clocks,
        Self::Abort,
        Self::Stop,
        Self::Digests,
    ];

    /// The words' name in tables and messages.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Counters => "counters",
            Self::Launches => "launch words",
            Self::Ready => "ready words",
            Self::Freed => "freed words",
            Self::Counts => "counts of a route",
            Self::Clocks => "clock words",
            Self::Abort => "abort word",
            Self::Stop => "stop word",
            Self::Digests => "digests of placements",
        }
    }

    fn bytes(self, shape: &KernelShape<'_>, sizes: &RankSizes, counters: &CounterNumbers) -> usize {
        match self {
            Self::Counters => 2 * counters.count as usize * LINE,
            Self::Launches => shape.cores * LINE,
            Self::Ready => sizes.ranks * LINE,
            Self::Freed => sizes.freed_words() * LINE,
            Self::Counts if shape.makes_route => 2 * sizes.ranks * shape.count_pitch(sizes.ranks) * size_of::<i32>(),
            Self::Digests if shape.makes_route => 2 * sizes.ranks * DIGEST_BYTES,
            Self::Clocks if shape.time_stamps => sizes.ranks * LINE,
            Self::Stop if !sizes.processes => 0,
            Self::Abort | Self::Stop => LINE,
            Self::Counts | Self::Clocks | Self::Digests => 0,
        }
    }
}

/// The layout of a rank's memory: the offsets and sizes of tensors, counters and words. It is the same on every rank. All offsets are in
/// bytes, and multiples of [`LINE`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MemoryPlan {
    /// Offset of each tensor in the workspace or the heap; 0 for arguments that are only in the caller's memory.
    pub tensors: Vec<usize>,
    /// Number of bytes that each tensor takes in the workspace or the heap; 0 for arguments that are only in the caller's memory.
    pub tensor_bytes: Vec<usize>,
    /// The numbers of the counters within a set.
    pub counters: CounterNumbers,
    /// Offset and size of each kind of word in the heap, in bytes, in the order of [`Word::ALL`]. A new heap holds zeros from the first
    /// word on.
    pub words: [(usize, usize); Word::ALL.len()],
    /// Bytes of the heap.
    pub heap: usize,
    /// Bytes of the workspace.
    pub workspace: usize,
}

impl MemoryPlan {
    /// Lays out the memory of a kernel for a group.
    #[must_use]
    pub fn new(shape: &KernelShape<'_>, sizes: &RankSizes) -> Self {
        let (mut heap, mut workspace) = (OffsetAllocator::default(), OffsetAllocator::default());
        let tensor_bytes: Vec<usize> = shape.tensors.iter().map(|tensor| tensor_bytes(tensor, sizes)).collect();
        let place = |(tensor, bytes): (&TensorShape<'_>, &usize)| match tensor.storage {
            Storage::Workspace => workspace.take(*bytes),
            Storage::Symmetric => heap.take(*bytes),
            Storage::Shared if sizes.processes => heap.take(*bytes),
            Storage::Argument | Storage::Shared => 0,
        };
        let tensors = shape.tensors.iter().zip(&tensor_bytes).map(place).collect();
        let counters = CounterNumbers::new(&shape.counters, &shape.spaces, sizes);
        let words = Word::ALL.map(|word| {
            let bytes = word.bytes(shape, sizes, &counters);
            (heap.take(bytes), bytes)
        });
        Self { tensors, tensor_bytes, counters, words, heap: heap.end(), workspace: workspace.end() }
    }

    /// Offset in the heap of the words of this kind.
    #[must_use]
    pub const fn at(&self, word: Word) -> usize {
        self.words[word as usize].0
    }

    /// Number of bytes of all words of this kind.
    #[must_use]
    pub const fn bytes(&self, word: Word) -> usize {
        self.words[word as usize].1
    }

    /// Bytes of the heap's tensors, which come before the words.
    #[must_use]
    pub const fn heap_tensors(&self) -> usize {
        self.at(Word::Counters)
    }

    /// Bytes of a rank's heap and workspace together.
    #[must_use]
    pub const fn needed(&self) -> usize {
        self.heap.saturating_add(self.workspace)
    }
}

/// Number of bytes that a tensor takes in the workspace or the heap.
fn tensor_bytes(tensor: &TensorShape<'_>, sizes: &RankSizes) -> usize {
    let rows = match tensor.storage {
        Storage::Workspace | Storage::Symmetric => sizes.rows(tensor.row_kind),
        Storage::Shared if sizes.processes => sizes.caller_rows(tensor.row_kind),
        Storage::Argument | Storage::Shared => 0,
    };
    rows.saturating_mul(tensor.row_bytes())
}

/// Assigns offsets in bytes, one after another, from 0 on. Instead of overflowing, offsets stop at the largest multiple of [`LINE`].
#[derive(Default)]
pub struct OffsetAllocator(usize);

impl OffsetAllocator {
    /// Reserves `bytes` bytes, rounded up to a multiple of [`LINE`], and returns their offset, which is also a multiple of it.
    pub fn take(&mut self, bytes: usize) -> usize {
        let at = self.0;
        self.0 = at.saturating_add(in_lines(bytes)).min(LAST);
        at
    }

    /// Number of bytes reserved so far, including those that round up to lines.
    #[must_use]
    pub const fn end(&self) -> usize {
        self.0
    }
}

const LAST: usize = usize::MAX / LINE * LINE;

/// A number of bytes, rounded up to whole lines.
pub(super) fn in_lines(bytes: usize) -> usize {
    bytes.checked_next_multiple_of(LINE).unwrap_or(LAST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::{Grid, KernelSizes, RowKind};
    use crate::op::ElementType;
    use proptest::prelude::*;

    #[test]
    fn places_are_lines_apart() {
        let mut cursor = OffsetAllocator::default();
        assert_eq!((cursor.take(1), cursor.take(0), cursor.take(513)), (0, 512, 512));
        assert_eq!(cursor.end(), 1536);
        cursor.take(usize::MAX);
        assert_eq!(cursor.end(), usize::MAX - 511);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn nothing_overlaps_and_all_starts_on_a_line(
            ranks in 1_usize..=8,
            tokens in 1_usize..200,
            chunks in 1_usize..4,
            capacity in 0_usize..500,
            (makes_route, time_stamps, processes) in any::<(bool, bool, bool)>(),
            kinds in prop::collection::vec((0..4_usize, 0..3_usize, 1_u32..2000), 0..8),
        ) {
            let tensor = |&(kind, storage, columns): &(usize, usize, u32)| TensorShape {
                name: "t",
                element: ElementType::bf16,
                columns,
                pitch: columns.next_multiple_of(256),
                row_kind: [RowKind::Token, RowKind::Slot, RowKind::Received, RowKind::Expert(24)][kind],
                storage: [Storage::Workspace, Storage::Symmetric, Storage::Shared][storage],
                writable: true,
            };
            let shape = KernelShape {
                sizes: KernelSizes { experts: 2 * ranks, spare: 0, top_k: 2, tokens, chunks, chunks_at_most: None, groups: 1, counts_parts: false },
                cores: 9,
                time_stamps,
                makes_route,
                tensors: kinds.iter().map(tensor).collect(),
                spaces: Vec::new(),
                counters: vec![Grid::Experts, Grid::Rank],
            };
            let sizes = RankSizes::new(&shape.sizes, ranks, Some(capacity), processes);
            let plan = MemoryPlan::new(&shape, &sizes);
            let in_heap = |storage| storage == Storage::Symmetric || (processes && storage == Storage::Shared);
            for heap in [true, false] {
                let tensors = shape.tensors.iter().zip(plan.tensors.iter().zip(&plan.tensor_bytes));
                let here = tensors.filter(|(t, _)| if heap { in_heap(t.storage) } else { t.storage == Storage::Workspace });
                let mut spans: Vec<(usize, usize)> = here.map(|(_, (at, bytes))| (*at, *bytes)).collect();
                let mut end = plan.workspace;
                if heap {
                    end = plan.heap;
                    spans.extend(Word::ALL.map(|word| (plan.at(word), plan.bytes(word))));
                }
                spans.sort_unstable();
                prop_assert!(spans.iter().all(|(at, _)| at % LINE == 0));
                prop_assert!(spans.windows(2).all(|pair| pair[0].0 + pair[0].1 <= pair[1].0), "{spans:?}");
                prop_assert_eq!(spans.iter().map(|(_, bytes)| in_lines(*bytes)).sum::<usize>(), end);
            }
        }
    }
}
