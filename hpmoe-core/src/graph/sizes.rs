//! Sizes of the layer.

/// Sizes of the layer, which every kernel declares by constants of these names, and its number of chunks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sizes {
    /// `EXPERTS`: logical experts, which ids name.
    pub experts: usize,
    /// `SPARE`: places for experts that each rank has beyond its share.
    pub spare: usize,
    /// `TOP_K`: experts per token.
    pub top_k: usize,
    /// `TOKENS`: the most tokens that one rank may bring.
    pub tokens: usize,
    /// The number of chunks into which the taskflow cuts the tokens of each rank; at least 1.
    pub chunks: usize,
}

pub use hpmoe_kernels::memory::CHUNK_BUFFERS;

impl Sizes {
    /// The physical experts of each of `ranks` ranks, places that no logical expert needs among them.
    #[must_use]
    pub const fn local_experts(&self, ranks: usize) -> usize {
        hpmoe_kernels::local_experts(self.experts, self.spare, ranks)
    }

    /// The physical experts of all of `ranks` ranks.
    #[must_use]
    pub const fn physical_experts(&self, ranks: usize) -> usize {
        self.local_experts(ranks) * ranks
    }

    /// The physical experts that have rows where all spare places hold copies.
    #[must_use]
    pub const fn used_experts(&self, ranks: usize) -> usize {
        self.experts + self.spare * ranks
    }

    /// The expert chunks of each of `ranks` ranks: pairs of a local expert and a chunk, which entries, tables and counters count.
    #[must_use]
    pub const fn expert_chunks(&self, ranks: usize) -> usize {
        self.local_experts(ranks) * self.chunks
    }

    /// The most tokens of one chunk on one rank.
    #[must_use]
    pub const fn chunk_tokens(&self) -> usize {
        self.tokens.div_ceil(self.chunks)
    }

    /// The most blocks of `height` tokens that one chunk has, each with its counters.
    #[must_use]
    pub fn blocks(&self, height: u32) -> u64 {
        (self.chunk_tokens() as u64).div_ceil(u64::from(height))
    }

    /// The number of chunks whose rows a tensor of the taskflow has room for.
    #[must_use]
    pub const fn buffers(&self) -> usize {
        if self.chunks < CHUNK_BUFFERS { self.chunks } else { CHUNK_BUFFERS }
    }

    /// Whether later chunks reuse the memory of earlier ones.
    #[must_use]
    pub const fn reuses(&self) -> bool {
        self.chunks > CHUNK_BUFFERS
    }
}
