//! Numbers of rows of each kind of tensor.

use super::{CHUNK_BUFFERS, KernelSizes, RowKind, default_capacity};
use crate::route::{ChosenChunks, KeptWords, chunk_counts, chunk_tokens};

/// The sizes that determine the maximum number of rows of each kind of tensor. They are the same on every rank of a group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RankSizes {
    /// Number of ranks in the group.
    pub ranks: usize,
    /// Number of logical experts.
    pub experts: usize,
    /// Number of places for experts on each rank.
    pub local_experts: usize,
    /// Number of experts per token.
    pub top_k: usize,
    /// Number of chunks that each rank's tokens are divided into; [`in_chunks`](Self::in_chunks) changes it.
    pub chunks: usize,
    /// Maximum number of chunks if launches choose the number; `None` if the number is a constant.
    pub chunks_at_most: Option<usize>,
    /// Whether a kernel that makes its route and chooses the number of chunks always counts rows in the largest number of chunks.
    pub counts_parts: bool,
    /// Maximum number of tokens per rank.
    pub tokens: usize,
    /// Maximum number of tokens of a chunk of a rank, for `chunks` chunks.
    pub chunk_tokens: usize,
    /// The maximum number of rows that one rank receives for one token.
    pub token_rows: usize,
    /// Number of received rows of each chunk that a rank has room for.
    pub capacity: usize,
    /// Whether ranks are processes. If so, the heap also has room for the caller's tensors that peers write.
    pub processes: bool,
}

impl RankSizes {
    /// The sizes of a kernel on `ranks` ranks. `capacity: None` stands for the [default capacity](default_capacity).
    #[must_use]
    pub fn new(sizes: &KernelSizes, ranks: usize, capacity: Option<usize>, processes: bool) -> Self {
        Self {
            ranks,
            experts: sizes.experts,
            local_experts: sizes.local_experts(ranks),
            top_k: sizes.top_k,
            chunks: sizes.chunks,
            chunks_at_most: sizes.chunks_at_most,
            counts_parts: sizes.counts_parts,
            tokens: sizes.tokens,
            chunk_tokens: sizes.chunk_tokens(),
            token_rows: sizes.rows_of_a_token(ranks),
            capacity: capacity.unwrap_or_else(|| default_capacity(sizes, ranks)),
            processes,
        }
    }

    /// These sizes for launches with this number of chunks.
    #[must_use]
    pub fn in_chunks(&self, chunks: usize) -> Self {
        Self { chunks, chunk_tokens: chunk_tokens(self.tokens, chunks, self.chunks_at_most), ..*self }
    }

    /// The sizes of all launches, one for each number of chunks that a launch can have, ascending. If every routing fits the capacity with
    /// some number of chunks, larger numbers are left out, because no launch chooses them.
    pub fn of_launches(&self) -> impl Iterator<Item = Self> + use<> {
        let (sizes, mut fits) = (*self, false);
        let numbers = chunk_counts(sizes.chunks, sizes.chunks_at_most).map(move |chunks| sizes.in_chunks(chunks));
        numbers.take_while(move |sizes| {
            let any = sizes.ranks.saturating_mul(sizes.chunk_tokens).saturating_mul(sizes.token_rows);
            !std::mem::replace(&mut fits, any <= sizes.capacity)
        })
    }

    /// The largest number of chunks that any launch needs.
    #[must_use]
    pub fn most_chunks(&self) -> usize {
        self.of_launches().last().map_or(self.chunks, |sizes| sizes.chunks)
    }

    /// Number of chunks in which a kernel that makes its route counts rows: the largest number that a launch needs or, for kept routes and for
    /// sums by parts, the largest number of the kernel. Launches of fewer chunks add counts up.
    #[must_use]
    pub fn counted_chunks(&self) -> usize {
        match self.chunks_at_most {
            Some(most) if self.counts_parts => most,
            _ => self.most_chunks(),
        }
    }

    /// Whether a kernel that makes its route chooses the number of chunks: if launches may choose it, and rows are counted in more than one
    /// chunk.
    #[must_use]
    pub fn chooses(&self) -> bool {
        self.chunks_at_most.is_some() && self.counted_chunks() > 1
    }

    /// The division of tokens into chunks if launches choose the number of chunks; `None` if the number is a constant.
    #[must_use]
    pub fn chosen_chunks(&self) -> Option<ChosenChunks> {
        self.chunks_at_most.map(|at_most| ChosenChunks { at_most, shared: self.counted_chunks() })
    }

    /// Number of a rank's freed words, in which peers count the chunks that they no longer read. There is one word per rank for each number
    /// of chunks above [`CHUNK_BUFFERS`] that launches can have, because words of different numbers of chunks count different chunks.
    #[must_use]
    pub fn freed_words(&self) -> usize {
        self.of_launches().filter(|sizes| sizes.chunks > CHUNK_BUFFERS).count() * self.ranks
    }

    /// Number of freed words that precede those of a launch with `self.chunks` chunks: the words of all launches with fewer chunks.
    #[must_use]
    pub fn freed_words_before(&self) -> usize {
        let fewer = |sizes: &Self| (CHUNK_BUFFERS + 1..self.chunks).contains(&sizes.chunks);
        self.of_launches().filter(fewer).count() * self.ranks
    }

    /// Number of counters that each chunk has for its blocks of `height` tokens: the distance between the counters of consecutive chunks.
    /// It is the same for all launches with more than one chunk.
    #[must_use]
    pub fn blocks(&self, height: u32) -> usize {
        self.stride().div_ceil(height as usize)
    }

    /// Number of rows from an even chunk's first token to the next chunk's, in tensors of the kernel. It is the same for all launches of
    /// more than one chunk.
    fn stride(&self) -> usize {
        match self.chunks_at_most {
            Some(_) if self.chunks > 1 => self.in_chunks(CHUNK_BUFFERS).chunk_tokens,
            _ => self.chunk_tokens,
        }
    }

    /// Maximum number of rows of a chunk that a rank receives if each token is sent to the rank only once: the tokens of all ranks, limited
    /// by the capacity.
    #[must_use]
    pub fn capacity_once(&self) -> usize {
        self.capacity.min(self.ranks.saturating_mul(self.chunk_tokens))
    }

    /// The maximum number of rows of one expert in one chunk: one row per token of all ranks, limited by the capacity.
    #[must_use]
    pub fn expert_rows(&self) -> usize {
        self.capacity_once()
    }

    /// The maximum number of row tiles of a given height on a rank, over all chunks, including one short tile for each expert.
    #[must_use]
    pub fn row_tiles(&self, height: u32) -> usize {
        (self.capacity / height as usize).saturating_add(self.local_experts).saturating_mul(self.chunks)
    }

    /// The number of chunks whose rows have memory at the same time in launches with `chunks` chunks.
    #[must_use]
    pub fn buffers(&self) -> usize {
        self.chunks.min(CHUNK_BUFFERS)
    }

    /// Number of rows for which a tensor in the workspace or the symmetric heap has memory; it is enough for all launches.
    #[must_use]
    pub fn rows(&self, row_kind: RowKind) -> usize {
        let of_launch =
            |sizes: Self| Self { chunk_tokens: sizes.stride(), ..sizes }.rows_of_chunks(row_kind, sizes.buffers());
        self.of_launches().map(of_launch).max().unwrap_or(0)
    }

    /// Maximum number of rows of a caller's tensor, which holds all chunks.
    #[must_use]
    pub fn caller_rows(&self, row_kind: RowKind) -> usize {
        self.rows_of_chunks(row_kind, self.chunks)
    }

    fn rows_of_chunks(&self, row_kind: RowKind, chunks: usize) -> usize {
        match row_kind {
            RowKind::Token => self.chunk_tokens.saturating_mul(chunks),
            RowKind::Slot => self.chunk_tokens.saturating_mul(self.top_k).saturating_mul(chunks),
            RowKind::Received => self.capacity.saturating_mul(chunks),
            RowKind::Once => self.capacity_once().saturating_mul(chunks),
            // All chunks share the matrices of experts.
            RowKind::Expert(height) => self.local_experts * height as usize,
            RowKind::Matrix(height) => height as usize,
            RowKind::Routed => self.kept(self.chunk_tokens * chunks).end,
        }
    }

    /// The layout of a kept route, on a rank with `tokens` tokens.
    #[must_use]
    pub fn kept(&self, tokens: usize) -> KeptWords {
        KeptWords::new(self.ranks, self.experts, self.top_k, self.kept_chunks(), tokens)
    }

    /// Number of chunks that a kept route has counts for.
    #[must_use]
    pub fn kept_chunks(&self) -> usize {
        self.chunks_at_most.unwrap_or(self.chunks)
    }
}
