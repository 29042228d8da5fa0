//! Where everything that a kernel sees lies.
//!
//! [`Plan`] is the part that stays from launch to launch and is the same on all ranks; [`tables`] makes the part of one
//! rank and one route.

pub(crate) mod counters;
pub(crate) mod plan;
pub(crate) mod routing;
pub(crate) mod spaces;
pub(crate) mod tables;

pub(crate) use counters::Counters;
pub(crate) use plan::Plan;

use hpmoe_kernels::{Rank, Route};

use crate::KernelTables;
use crate::tables::Extent;

/// Most rows of each kind on any rank.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Sizes {
    /// Ranks of the group.
    pub(crate) ranks: usize,
    /// Experts of each rank.
    pub(crate) local_experts: usize,
    /// Experts of each token.
    pub(crate) top_k: usize,
    /// Tokens of a rank.
    pub(crate) tokens: usize,
    /// Rows received by a rank.
    pub(crate) capacity: usize,
}

impl Sizes {
    /// For a kernel on a number of ranks that divides its experts. Without a given capacity, no load exceeds it: every
    /// token of every rank may go to as many experts of one rank as a token has, or as there are.
    pub(crate) fn new(tables: &KernelTables, ranks: usize, capacity: Option<usize>) -> Self {
        let local_experts = tables.experts / ranks;
        let lossless = ranks * tables.tokens * tables.top_k.min(local_experts);
        Self {
            ranks,
            local_experts,
            top_k: tables.top_k,
            tokens: tables.tokens,
            capacity: capacity.unwrap_or(lossless),
        }
    }

    /// Most rows of a tensor.
    pub(crate) const fn rows(&self, extent: Extent) -> usize {
        match extent {
            Extent::Token => self.tokens,
            Extent::Slot => self.tokens * self.top_k,
            Extent::Received => self.capacity,
            Extent::Expert(height) => self.local_experts * height as usize,
            Extent::Matrix(height) => height as usize,
        }
    }
}

/// Rows of a tensor on a rank in one launch.
pub(crate) fn rows_of(extent: Extent, route: &Route, rank: Rank) -> usize {
    match extent {
        Extent::Token => route.tokens(rank),
        Extent::Slot => route.tokens(rank) * route.top_k(),
        Extent::Received => route.received(rank),
        Extent::Expert(height) => route.local_experts() * height as usize,
        Extent::Matrix(height) => height as usize,
    }
}
