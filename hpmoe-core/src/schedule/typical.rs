//! Typical launches: the scheduler makes choices for them that then apply to every launch.

use crate::graph::TaskGraph;

/// The maximum number of ranks of a typical launch. With more ranks, each expert has more rows and each rank fewer experts, which changes
/// little.
const RANKS: u32 = 8;

/// The number of the modelled rank, which stands for all ranks.
pub(super) const OWN: u32 = 0;

/// The fractional part of the golden ratio. The fractional parts of its first n multiples are spread evenly, for any n.
pub(super) const GOLDEN: f64 = 0.618_033_988_749_894_9;

/// A launch with the maximum number of tokens, spread evenly.
#[derive(Clone, Copy, Debug)]
pub(super) struct Typical {
    /// Ranks of the group.
    pub(super) ranks: u32,
    /// Number of expert chunks per rank: experts, counted once for each chunk.
    pub(super) experts: u32,
    /// Number of rows of an expert in a chunk.
    pub(super) rows: u32,
}

/// The launch with the most tokens, on eight ranks or the next smaller number that divides the experts.
pub(super) fn typical(graph: &TaskGraph) -> Typical {
    let shared = (1..=RANKS).rev().find_map(|ranks| on_ranks(graph, ranks));
    shared.expect("one rank has all experts")
}

/// The typical launch on a number of ranks; `None` if that number does not divide the experts.
pub(super) fn on_ranks(graph: &TaskGraph, ranks: u32) -> Option<Typical> {
    let sizes = &graph.sizes;
    let all = ranks as usize;
    let rows = (sizes.chunk_tokens() * sizes.top_k * all).div_ceil(sizes.used_experts(all));
    let typical = Typical { ranks, experts: sizes.expert_chunks(all) as u32, rows: rows as u32 };
    (sizes.experts % all == 0).then_some(typical)
}
