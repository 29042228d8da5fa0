//! The route of a launch: made by the host, or by the kernel.

use hpmoe_kernels::route::chunk_tokens;
use hpmoe_kernels::{PerRank, Placement, Rank, Ranks};
use std::sync::Arc;

use super::{RankSizes, RouteChunks, rows_of};
use crate::KernelTables;
use crate::tables::RowKind;

/// The route of a launch.
pub(crate) enum LaunchRoute<'a> {
    /// A route that the host has made.
    Host(RouteChunks<'a>),
    /// A route that the kernel makes from ids in the memory of the ranks.
    Kernel(KernelRoute),
}

/// A route that the kernel makes, as far as the host knows it: by the numbers of tokens.
#[derive(Clone, Debug)]
pub(crate) struct KernelRoute {
    /// Number of tokens of each local rank.
    tokens: PerRank<usize>,
    sizes: RankSizes,
    /// Placement of the experts; `None` if place `i` holds expert `i`.
    placement: Option<Arc<Placement>>,
}

impl KernelRoute {
    /// A route for ranks with these numbers of tokens.
    pub(crate) const fn new(tokens: PerRank<usize>, sizes: RankSizes, placement: Option<Arc<Placement>>) -> Self {
        Self { tokens, sizes, placement }
    }

    /// Placement of the experts; `None` if place `i` holds expert `i`.
    pub(crate) fn placement(&self) -> Option<&Placement> {
        self.placement.as_deref()
    }

    /// Number of tokens of a local rank.
    pub(crate) fn tokens(&self, rank: Rank) -> usize {
        self.tokens[rank]
    }

    /// Number of tokens of each chunk of a local rank, if there are `chunks` chunks.
    pub(crate) fn chunk_tokens(&self, rank: Rank, chunks: usize) -> Vec<usize> {
        let tokens = self.tokens(rank);
        let most = chunk_tokens(tokens, chunks, self.sizes.chunks_at_most);
        (0..chunks).map(|chunk| tokens.min((chunk + 1) * most) - tokens.min(chunk * most)).collect()
    }

    /// The sizes that buffers are allocated for.
    pub(crate) const fn sizes(&self) -> &RankSizes {
        &self.sizes
    }

    /// Number of rows on a rank of a tensor with this kind of rows. For received rows, and for all rows of ranks in
    /// other processes, it is the number that there is room for.
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
    /// The host's route; `None` if the kernel makes it.
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

    /// Number of tokens of a local rank.
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

    /// Number of rows on a rank of a tensor with this kind of rows. For kernels with chunks, this holds only for the
    /// caller's tensors.
    pub(crate) fn rows(&self, row_kind: RowKind, rank: Rank) -> usize {
        match self {
            // A single chunk may share rows among copies of an expert differently than the whole route.
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
