//! The layout of everything that a kernel accesses.
//!
//! [`Plan`] is the part that stays from launch to launch and is the same on all ranks; [`tables`] makes the part of one
//! rank and one route.

pub(crate) mod chunks;
pub(crate) mod counters;
pub(crate) mod once;
pub(crate) mod plan;
pub(crate) mod routing;
pub(crate) mod spaces;
pub(crate) mod tables;

pub(crate) use chunks::Chunks;
pub(crate) use counters::Counters;
pub(crate) use plan::Plan;

use hpmoe_kernels::{Rank, Route};

use crate::KernelTables;
use crate::abi::CHUNK_BUFFERS;
use crate::tables::RowKind;

/// Most rows of each kind on any rank.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Sizes {
    /// Ranks of the group.
    pub(crate) ranks: usize,
    /// Experts of each rank.
    pub(crate) local_experts: usize,
    /// Experts of each token.
    pub(crate) top_k: usize,
    /// Chunks of the tokens of a rank.
    pub(crate) chunks: usize,
    /// Tokens of a chunk of a rank.
    pub(crate) chunk_tokens: usize,
    /// Rows of a chunk received by a rank.
    pub(crate) capacity: usize,
}

impl Sizes {
    /// For a kernel on a number of ranks that divides its experts. Without a given capacity, no load exceeds it: every
    /// token of every rank may go to as many experts of one rank as a token has, or as there are.
    pub(crate) fn new(tables: &KernelTables, ranks: usize, capacity: Option<usize>) -> Self {
        let local_experts = tables.experts / ranks;
        let chunk_tokens = tables.tokens.div_ceil(tables.chunks);
        let lossless = ranks * chunk_tokens * tables.top_k.min(local_experts);
        Self {
            ranks,
            local_experts,
            top_k: tables.top_k,
            chunks: tables.chunks,
            chunk_tokens,
            capacity: capacity.unwrap_or(lossless),
        }
    }

    /// Number of freed words of peers, which say which chunks they no longer read.
    pub(crate) const fn freed_words(&self) -> usize {
        if self.chunks > CHUNK_BUFFERS { self.ranks } else { 0 }
    }

    /// Most rows that a rank receives when each token is sent once to it: none twice, and none that no row is received for.
    pub(crate) fn capacity_once(&self) -> usize {
        self.capacity.min(self.ranks * self.chunk_tokens)
    }

    /// Rows that there is memory for in a tensor of the kernel.
    pub(crate) fn rows(&self, extent: RowKind) -> usize {
        let buffers = self.chunks.min(CHUNK_BUFFERS);
        match extent {
            RowKind::Token => self.chunk_tokens * buffers,
            RowKind::Slot => self.chunk_tokens * self.top_k * buffers,
            RowKind::Received => self.capacity.saturating_mul(buffers),
            RowKind::Once => self.capacity_once().saturating_mul(buffers),
            RowKind::Expert(height) => self.local_experts * height as usize,
            RowKind::Matrix(height) => height as usize,
        }
    }
}

/// Rows of a caller's tensor on a rank in one launch, and of a kernel's that is not cut into chunks.
pub(crate) fn rows_of(extent: RowKind, route: &Route, rank: Rank) -> usize {
    match extent {
        RowKind::Token => route.tokens(rank),
        RowKind::Slot => route.tokens(rank) * route.top_k(),
        RowKind::Received => route.received(rank),
        RowKind::Once => route.received_once(rank),
        RowKind::Expert(height) => route.local_experts() * height as usize,
        RowKind::Matrix(height) => height as usize,
    }
}
