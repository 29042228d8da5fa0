//! Room for received rows.

use super::KernelSizes;

/// Minimum number of rows that each rank has room for if launches choose their number of chunks. If no routing brings that many rows, it is
/// the most that any routing brings.
const FEW_ROWS: usize = 4096;

/// Default number of rows of each chunk that a rank has room for, if the group does not set it.
///
/// If the number of chunks is a constant: the most that any routing can bring, because a launch that needs more is refused. With the most
/// rows, every token of every rank goes to as many experts of one rank as a token can.
///
/// If launches choose the number of chunks: 1.5 times the rows that a rank receives under an even load if all tokens are one chunk, because
/// launches with more rows use more chunks. It is at least 4,096, but never more than any routing can bring in one chunk.
#[must_use]
pub fn default_capacity(sizes: &KernelSizes, ranks: usize) -> usize {
    let most = most_rows(sizes, ranks);
    match sizes.chunks_at_most {
        None => most,
        Some(_) => most.min(FEW_ROWS.max(sizes.tokens.saturating_mul(sizes.top_k).saturating_mul(3).div_ceil(2))),
    }
}

/// Text that names the rule by which [`default_capacity`] got its result for these sizes.
#[must_use]
pub fn capacity_rule(sizes: &KernelSizes, ranks: usize) -> &'static str {
    match default_capacity(sizes, ranks) == most_rows(sizes, ranks) {
        true => "the most that any routing brings",
        false => "1.5 times an even load, but at least 4096; a launch that brings more rows uses more chunks",
    }
}

/// The maximum number of rows that any routing brings to a rank in one chunk.
fn most_rows(sizes: &KernelSizes, ranks: usize) -> usize {
    ranks.saturating_mul(sizes.chunk_tokens_of_fewest()).saturating_mul(sizes.rows_of_a_token(ranks))
}

/// Number of rows that each rank receives in a chunk if all ranks have `TOKENS` tokens and the load is even.
#[must_use]
pub fn balanced_rows(sizes: &KernelSizes) -> usize {
    sizes.chunk_tokens().saturating_mul(sizes.top_k)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_holds_what_any_routing_brings() {
        let deepseek = KernelSizes {
            experts: 64,
            spare: 0,
            top_k: 8,
            tokens: 4096,
            chunks: 1,
            chunks_at_most: None,
            groups: 1,
            counts_parts: false,
        };
        assert_eq!((default_capacity(&deepseek, 8), balanced_rows(&deepseek)), (262_144, 32_768));
        // A rank with one expert receives a token once.
        assert_eq!(default_capacity(&deepseek, 64), 64 * 4096);
        let of_chunks = KernelSizes { chunks: 3, ..deepseek };
        assert_eq!((default_capacity(&of_chunks, 8), balanced_rows(&of_chunks)), (8 * 1366 * 8, 1366 * 8));
        // Each rank owns one group, of which a token has one expert.
        assert_eq!(default_capacity(&KernelSizes { groups: 8, ..deepseek }, 8), 32_768);
        assert_eq!(default_capacity(&KernelSizes { tokens: usize::MAX, ..deepseek }, 8), usize::MAX);
        assert_eq!(capacity_rule(&of_chunks, 8), "the most that any routing brings");
    }

    #[test]
    fn launches_that_choose_have_room_for_a_load_that_is_nearly_even() {
        let deepseek = KernelSizes {
            experts: 64,
            spare: 0,
            top_k: 8,
            tokens: 4096,
            chunks: 1,
            chunks_at_most: Some(8),
            groups: 1,
            counts_parts: false,
        };
        let of = |tokens, ranks| {
            let sizes = KernelSizes { tokens, ..deepseek };
            (default_capacity(&sizes, ranks), capacity_rule(&sizes, ranks).starts_with("1.5"))
        };
        assert_eq!([of(4096, 8), of(512, 8), of(128, 8)], [(49_152, true), (6144, true), (4096, true)]);
        // Any routing fits, by one chunk.
        assert_eq!([of(64, 8), of(1, 8), of(4096, 1)], [(4096, false), (64, false), (32_768, false)]);
        let parts = KernelSizes { chunks: 4, ..deepseek };
        assert_eq!((default_capacity(&parts, 8), balanced_rows(&deepseek)), (49_152, 32_768));
    }
}
