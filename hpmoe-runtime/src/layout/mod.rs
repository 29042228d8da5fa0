//! The layout of everything that a kernel accesses.
//!
//! [`MemoryPlan`] is the part that stays from launch to launch and is the same on all ranks; [`tables`] makes the part of one
//! rank and one route.

pub(crate) mod chunks;
pub(crate) mod counters;
#[cfg(test)]
mod device;
mod memory;
pub(crate) mod once;
pub(crate) mod plan;
pub(crate) mod route;
mod routed;
pub(crate) mod routing;
pub(crate) mod spaces;
pub(crate) mod stamps;
pub(crate) mod tables;

pub(crate) use chunks::RouteChunks;
pub(crate) use counters::CounterNumbers;
pub use memory::KernelMemory;
pub(crate) use plan::MemoryPlan;
pub(crate) use route::{KernelRoute, LaunchRoute};

use hpmoe_kernels::route::{KeptWords, most_of_a_token};
use hpmoe_kernels::{Rank, Route};

use crate::KernelTables;
use crate::abi::CHUNK_BUFFERS;
use crate::tables::RowKind;

/// The sizes that decide how many rows each kind of tensor has at most, the same on every rank.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct RankSizes {
    /// Ranks of the group.
    pub(crate) ranks: usize,
    /// Logical experts.
    pub(crate) experts: usize,
    /// Physical experts of each rank.
    pub(crate) local_experts: usize,
    /// Experts of each token.
    pub(crate) top_k: usize,
    /// Chunks that the tokens of each rank are cut into.
    pub(crate) chunks: usize,
    /// Most tokens of a chunk of a rank.
    pub(crate) chunk_tokens: usize,
    /// Rows of a chunk that a rank has room to receive.
    pub(crate) capacity: usize,
    /// Whether ranks are processes: the heap then holds what peers write of the caller's tensors, too.
    pub(crate) processes: bool,
}

impl RankSizes {
    /// For a kernel on a number of ranks that it has a schedule for. Without a given capacity, no load exceeds it: every
    /// token of every rank may go to as many experts of one rank as a token has, or as there are.
    pub(crate) fn new(tables: &KernelTables, ranks: usize, capacity: Option<usize>, processes: bool) -> Self {
        let local_experts = tables.local_experts(ranks);
        let chunk_tokens = tables.tokens.div_ceil(tables.chunks);
        let groups = tables.route.and_then(|route| route.groups).unwrap_or(1);
        let lossless =
            ranks * chunk_tokens * most_of_a_token((tables.experts, tables.spare), tables.top_k, groups, ranks);
        Self {
            ranks,
            experts: tables.experts,
            local_experts,
            top_k: tables.top_k,
            chunks: tables.chunks,
            chunk_tokens,
            capacity: capacity.unwrap_or(lossless),
            processes,
        }
    }

    /// Number of freed words of peers, which say which chunks they no longer read.
    pub(crate) const fn freed_words(&self) -> usize {
        if self.chunks > CHUNK_BUFFERS { self.ranks } else { 0 }
    }

    /// Most rows that a rank receives when each token is sent to it once. Each such row is one that it receives anyway.
    pub(crate) fn capacity_once(&self) -> usize {
        self.capacity.min(self.ranks * self.chunk_tokens)
    }

    /// Most rows of one expert and chunk: every token of every rank, as far as there is room.
    pub(crate) fn expert_rows(&self) -> usize {
        self.capacity.min(self.ranks.saturating_mul(self.chunk_tokens))
    }

    /// Most row tiles of a height on a rank: those of all chunks, with a short one for each expert.
    pub(crate) fn row_tiles(&self, height: u32) -> usize {
        (self.capacity / height as usize).saturating_add(self.local_experts).saturating_mul(self.chunks)
    }

    /// Rows that a tensor of the kernel has memory for.
    pub(crate) fn rows(&self, row_kind: RowKind) -> usize {
        self.rows_of_chunks(row_kind, self.chunks.min(CHUNK_BUFFERS))
    }

    /// Most rows of a caller's tensor, which holds all chunks.
    pub(crate) fn caller_rows(&self, row_kind: RowKind) -> usize {
        self.rows_of_chunks(row_kind, self.chunks)
    }

    fn rows_of_chunks(&self, row_kind: RowKind, chunks: usize) -> usize {
        match row_kind {
            RowKind::Token => self.chunk_tokens * chunks,
            RowKind::Slot => self.chunk_tokens * self.top_k * chunks,
            RowKind::Received => self.capacity.saturating_mul(chunks),
            RowKind::Once => self.capacity_once().saturating_mul(chunks),
            RowKind::Expert(height) => self.local_experts * height as usize,
            RowKind::Matrix(height) => height as usize,
            RowKind::Routed => self.kept(self.chunk_tokens * chunks).end,
        }
    }

    /// Where the words of a kept route lie, on a rank with so many tokens.
    pub(crate) const fn kept(&self, tokens: usize) -> KeptWords {
        KeptWords::new(self.ranks, self.experts, self.top_k, tokens)
    }
}

/// Rows on a rank, in one launch, of a caller's tensor or of a tensor of a kernel without chunks.
pub(crate) fn rows_of(row_kind: RowKind, route: &Route, rank: Rank) -> usize {
    match row_kind {
        RowKind::Token => route.tokens(rank),
        RowKind::Slot => route.tokens(rank) * route.top_k(),
        RowKind::Received => route.received(rank),
        RowKind::Once => route.received_once(rank),
        RowKind::Expert(height) => route.local_experts() * height as usize,
        RowKind::Matrix(height) => height as usize,
        RowKind::Routed => {
            KeptWords::new(route.ranks().count(), route.expert_count(), route.top_k(), route.tokens(rank)).end
        }
    }
}
