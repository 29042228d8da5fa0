//! Sizes of the layer.

/// Sizes of the layer, from the constants of the kernel that each field names, and the number of chunks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sizes {
    /// `EXPERTS`: number of logical experts, which ids name.
    pub experts: usize,
    /// `SPARE`: number of places for experts that each rank has in addition to its share of the experts; 0 if the kernel doesn't declare
    /// it.
    pub spare: usize,
    /// `TOP_K`: number of experts per token.
    pub top_k: usize,
    /// `TOKENS`: the maximum number of tokens per rank.
    pub tokens: usize,
    /// Number of chunks that each rank's tokens are divided into; at least 1. If launches choose the number of chunks, the number that this
    /// graph is for.
    pub chunks: usize,
    /// The largest number of chunks that a launch may choose, a power of two; `None` if launches don't choose the number of chunks.
    pub chunks_at_most: Option<usize>,
}

pub use hpmoe_kernels::memory::CHUNK_BUFFERS;
use hpmoe_kernels::route::{chunk_counts, chunk_parts, chunk_tokens};

impl Sizes {
    /// Number of physical experts on each rank of a group of `ranks` ranks, including places that stay empty.
    #[must_use]
    pub const fn local_experts(&self, ranks: usize) -> usize {
        hpmoe_kernels::local_experts(self.experts, self.spare, ranks)
    }

    /// Number of physical experts of a group of `ranks` ranks, including places that stay empty.
    #[must_use]
    pub const fn physical_experts(&self, ranks: usize) -> usize {
        self.local_experts(ranks) * ranks
    }

    /// Number of physical experts of a group of `ranks` ranks that can have rows, if all spare places hold copies of experts.
    #[must_use]
    pub const fn used_experts(&self, ranks: usize) -> usize {
        self.experts + self.spare * ranks
    }

    /// Number of expert chunks on each rank of a group of `ranks` ranks: pairs of a local expert and one of `self.chunks` chunks.
    #[must_use]
    pub const fn expert_chunks(&self, ranks: usize) -> usize {
        self.local_experts(ranks) * self.chunks
    }

    /// The maximum number of tokens of one chunk on one rank.
    #[must_use]
    pub fn chunk_tokens(&self) -> usize {
        chunk_tokens(self.tokens, self.chunks, self.chunks_at_most)
    }

    /// The number of parts that sums over the rows of a chunk are added up in, one part after another: the largest number of chunks divided
    /// by `self.chunks`, or 1 if launches don't choose the number of chunks.
    #[must_use]
    pub fn chunk_parts(&self) -> usize {
        chunk_parts(self.chunks, self.chunks_at_most)
    }

    /// Whether some launch may have more than one chunk.
    #[must_use]
    pub const fn cuts(&self) -> bool {
        self.chunks > 1 || self.chunks_at_most.is_some()
    }

    /// The numbers of chunks that a launch may have, ascending.
    pub fn chunk_counts(&self) -> impl Iterator<Item = usize> + use<> {
        chunk_counts(self.chunks, self.chunks_at_most)
    }

    /// The largest number of chunks that a launch may have.
    #[must_use]
    pub const fn most_chunks(&self) -> usize {
        match self.chunks_at_most {
            Some(most) => most,
            None => self.chunks,
        }
    }

    /// Number of tokens from the start of an even chunk to the start of the next odd chunk in tensors of the kernel, which have room for
    /// two chunks. The number is the same for all launches.
    #[must_use]
    pub fn chunk_stride(&self) -> usize {
        match self.chunks_at_most {
            Some(_) => Self { chunks: CHUNK_BUFFERS, ..*self }.chunk_tokens(),
            None => self.chunk_tokens(),
        }
    }

    /// The maximum number of token blocks of `height` tokens in one chunk on one rank; each block has its own counter.
    #[must_use]
    pub fn blocks(&self, height: u32) -> u64 {
        (self.chunk_tokens() as u64).div_ceil(u64::from(height))
    }

    /// The number of chunks whose rows fit into a tensor of the taskflow at the same time.
    #[must_use]
    pub fn buffers(&self) -> usize {
        self.chunk_counts().max().unwrap_or(1).min(CHUNK_BUFFERS)
    }

    /// Whether later chunks reuse the memory of earlier chunks in launches with `self.chunks` chunks.
    #[must_use]
    pub const fn reuses(&self) -> bool {
        self.chunks > CHUNK_BUFFERS
    }

    /// Whether later chunks reuse the memory of earlier chunks in launches with some number of chunks that the kernel allows.
    #[must_use]
    pub fn may_reuse(&self) -> bool {
        self.chunk_counts().any(|chunks| chunks > CHUNK_BUFFERS)
    }
}
