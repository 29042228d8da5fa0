//! The layout of everything that a kernel accesses.
//!
//! [`MemoryPlan`], which the compiler's reports share, is the same for all launches and ranks. [`tables`] makes the
//! part that belongs to one rank and one route.

pub(crate) mod chunks;
#[cfg(test)]
mod device;
mod memory;
pub(crate) mod once;
pub(crate) mod route;
mod routed;
pub(crate) mod routing;
pub(crate) mod spaces;
pub(crate) mod stamps;
pub(crate) mod tables;

pub(crate) use chunks::RouteChunks;
pub use memory::KernelMemory;
pub(crate) use route::{KernelRoute, LaunchRoute};

use hpmoe_kernels::memory::RowKind;
pub(crate) use hpmoe_kernels::memory::{MemoryPlan, RankSizes, Word};
use hpmoe_kernels::route::KeptWords;
use hpmoe_kernels::{Rank, Route};

/// Number of rows on a rank of a tensor with this kind of rows, by the host's route. For kernels with chunks, this
/// holds only for the caller's tensors.
pub(crate) fn rows_of(row_kind: RowKind, route: &Route, rank: Rank) -> usize {
    match row_kind {
        RowKind::Token => route.tokens(rank),
        RowKind::Slot => route.tokens(rank) * route.top_k(),
        RowKind::Received => route.received(rank),
        RowKind::Once => route.received_once(rank),
        RowKind::Expert(height) => route.local_experts() * height as usize,
        RowKind::Matrix(height) => height as usize,
        RowKind::Routed => {
            KeptWords::new(route.ranks().count(), route.expert_count(), route.top_k(), 1, route.tokens(rank)).end
        }
    }
}
