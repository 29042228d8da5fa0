//! Room for received rows.

use super::KernelSizes;
use crate::route::most_of_a_token;

/// The rule of [`default_capacity`], in words.
pub const CAPACITY_RULE: &str = "the most that any routing brings";

/// Rows of each chunk that a rank has room for unless the group says otherwise: as many as any routing can bring, because a launch that
/// needs more is refused. Every token of every rank may go to as many experts of one rank as a token can.
#[must_use]
pub fn default_capacity(sizes: &KernelSizes, ranks: usize) -> usize {
    let most = most_of_a_token((sizes.experts, sizes.spare), sizes.top_k, sizes.groups, ranks);
    ranks.saturating_mul(sizes.chunk_tokens()).saturating_mul(most)
}

/// Rows of each chunk that a rank receives if all ranks bring all their tokens and all receive equally many rows.
#[must_use]
pub const fn balanced_rows(sizes: &KernelSizes) -> usize {
    sizes.chunk_tokens().saturating_mul(sizes.top_k)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_holds_what_any_routing_brings() {
        let deepseek = KernelSizes { experts: 64, spare: 0, top_k: 8, tokens: 4096, chunks: 1, groups: 1 };
        assert_eq!((default_capacity(&deepseek, 8), balanced_rows(&deepseek)), (262_144, 32_768));
        // A rank with one expert receives a token once.
        assert_eq!(default_capacity(&deepseek, 64), 64 * 4096);
        let of_chunks = KernelSizes { chunks: 3, ..deepseek };
        assert_eq!((default_capacity(&of_chunks, 8), balanced_rows(&of_chunks)), (8 * 1366 * 8, 1366 * 8));
        // Each rank owns one group, of which a token has one expert.
        assert_eq!(default_capacity(&KernelSizes { groups: 8, ..deepseek }, 8), 32_768);
        assert_eq!(default_capacity(&KernelSizes { tokens: usize::MAX, ..deepseek }, 8), usize::MAX);
    }
}
