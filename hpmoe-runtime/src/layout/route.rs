//! Where the rows of a launch go: by a route of the host, or by one that the kernel makes.

use hpmoe_kernels::route::chunk_tokens;
use hpmoe_kernels::{PerRank, Placement, Rank, Ranks};
use std::sync::Arc;

use super::{RankSizes, RouteChunks, rows_of};
use crate::KernelTables;
use crate::tables::RowKind;

/// Where the rows of a launch go.
pub(crate) enum LaunchRoute<'a> {
    /// By a route that the host has made.
    Host(RouteChunks<'a>),
    /// By ids in the memory of the ranks, of which the kernel makes a route.
    Kernel(KernelRoute),
}

/// What the host knows of a route that the kernel makes: how many tokens there are.
#[derive(Clone, Debug)]
pub(crate) struct KernelRoute {
    /// Tokens of each rank that is here.
    tokens: PerRank<usize>,
    sizes: RankSizes,
    /// Where experts lie, if not one after the other.
    placement: Option<Arc<Placement>>,
}

impl KernelRoute {
    /// For these numbers of tokens.
    pub(crate) const fn new(tokens: PerRank<usize>, sizes: RankSizes, placement: Option<Arc<Placement>>) -> Self {
        Self { tokens, sizes, placement }
    }

    /// Where experts lie, if not one after the other.
    pub(crate) fn placement(&self) -> Option<&Placement> {
        self.placement.as_deref()
    }

    /// Tokens of a rank that is here.
    pub(crate) fn tokens(&self, rank: Rank) -> usize {
        self.tokens[rank]
    }

    /// Tokens of each of so many chunks of a rank that is here.
    pub(crate) fn chunk_tokens(&self, rank: Rank, chunks: usize) -> Vec<usize> {
        let tokens = self.tokens(rank);
        let most = chunk_tokens(tokens, chunks, self.sizes.chunks_at_most);
        (0..chunks).map(|chunk| tokens.min((chunk + 1) * most) - tokens.min(chunk * most)).collect()
    }

    /// The sizes that decide how much room there is.
    pub(crate) const fn sizes(&self) -> &RankSizes {
        &self.sizes
    }

    /// Rows of a tensor on a rank: of received rows as many as there is room for, of another process's rank the most.
    fn rows(&self, row_kind: RowKind, rank: Rank) -> usize {
        let is_here = self.tokens.ranks().here().any(|here| here == rank);
        match row_kind {
            RowKind::Token if is_here => self.tokens(rank),
            RowKind::Slot if is_here => self.tokens(rank) * self.sizes.top_k,
            RowKind::Routed if is_here => self.sizes.kept(self.tokens(rank)).end,
            row_kind => self.sizes.caller_rows(row_kind),
        }
    }
}

impl LaunchRoute<'_> {
    /// The route of the host, if it has made it.
    pub(crate) const fn host(&self) -> Option<&RouteChunks<'_>> {
        match self {
            Self::Host(chunks) => Some(chunks),
            Self::Kernel(_) => None,
        }
    }

    /// The ranks of the group.
    pub(crate) fn ranks(&self) -> Ranks {
        match self {
            Self::Host(chunks) => chunks.whole().ranks(),
            Self::Kernel(route) => Ranks::new(route.sizes.ranks),
        }
    }

    /// Tokens of a rank that is here.
    pub(crate) fn tokens(&self, rank: Rank) -> usize {
        match self {
            Self::Host(chunks) => chunks.whole().tokens(rank),
            Self::Kernel(route) => route.tokens(rank),
        }
    }

    /// Whether the kernel chooses the number of chunks.
    pub(crate) const fn chooses(&self) -> bool {
        match self {
            Self::Host(_) => false,
            Self::Kernel(route) => route.sizes.chunks_at_most.is_some(),
        }
    }

    /// Rows on a rank of a caller's tensor, or of a tensor of a kernel without chunks.
    pub(crate) fn rows(&self, row_kind: RowKind, rank: Rank) -> usize {
        match self {
            // One chunk may share rows among copies of an expert in another way than the route that it is made of.
            Self::Host(chunks) => match chunks.routes() {
                [chunk] => rows_of(row_kind, chunk, rank),
                _ => rows_of(row_kind, chunks.whole(), rank),
            },
            Self::Kernel(route) => route.rows(row_kind, rank),
        }
    }
}

/// Whether a kernel sends tokens once to each rank.
pub(crate) fn sends_once(tables: &KernelTables) -> bool {
    tables.tensors.iter().any(|tensor| tensor.row_kind == RowKind::Once)
}
