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

/// The launch with the most tokens: on the first number of ranks that the build names, or by default on eight ranks or the next smaller
/// number that divides the experts.
pub(super) fn typical(graph: &TaskGraph) -> Typical {
    let shared = (1..=RANKS).rev().find(|&ranks| divides(graph, ranks)).unwrap_or(1);
    on_ranks(graph, graph.named_ranks.first().copied().unwrap_or(shared))
}

/// The launches with the most tokens on the first number of ranks that the build names, or by default on those of `ranks` that divide the
/// experts. If there are none, the typical launch alone.
pub(super) fn launches(graph: &TaskGraph, ranks: &[u32]) -> Vec<Typical> {
    let ranks = ranks.iter().filter(|&&ranks| graph.named_ranks.is_empty() && divides(graph, ranks));
    let launches: Vec<Typical> = ranks.map(|&ranks| on_ranks(graph, ranks)).collect();
    if launches.is_empty() { vec![typical(graph)] } else { launches }
}

/// The launch with the most tokens on a number of ranks.
pub(super) fn on_ranks(graph: &TaskGraph, ranks: u32) -> Typical {
    let sizes = &graph.sizes;
    let all = ranks as usize;
    let rows = (sizes.chunk_tokens() * sizes.top_k * all).div_ceil(sizes.used_experts(all));
    Typical { ranks, experts: sizes.expert_chunks(all) as u32, rows: rows as u32 }
}

fn divides(graph: &TaskGraph, ranks: u32) -> bool {
    graph.sizes.experts % ranks as usize == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Layer, moe_ffn};

    fn of(experts: usize, named: &[u32]) -> crate::analyze::CheckedGraph {
        moe_ffn(&Layer { experts, ..Layer::DEEPSEEK }).changed(|graph| graph.named_ranks = named.to_vec())
    }

    #[test]
    fn the_first_number_of_ranks_that_a_build_names_is_typical() {
        let ranks = |experts, named: &[u32]| typical(of(experts, named).graph()).ranks;
        assert_eq!([ranks(64, &[]), ranks(14, &[]), ranks(9, &[]), ranks(11, &[])], [8, 7, 3, 1]);
        assert_eq!([ranks(64, &[1]), ranks(64, &[20, 8]), ranks(64, &[64])], [1, 20, 64]);
        // 20 ranks have room for 80 experts.
        assert_eq!(typical(of(64, &[20]).graph()).experts, 4);
    }

    #[test]
    fn launches_are_those_of_named_ranks_or_of_divisors() {
        let ranks = |experts, named: &[u32]| -> Vec<u32> {
            launches(of(experts, named).graph(), &[8, 4, 2]).iter().map(|launch| launch.ranks).collect()
        };
        assert_eq!([ranks(64, &[]), ranks(12, &[]), ranks(9, &[])], [vec![8, 4, 2], vec![4, 2], vec![3]]);
        assert_eq!([ranks(64, &[16, 4]), ranks(64, &[5])], [[16], [5]]);
    }
}
