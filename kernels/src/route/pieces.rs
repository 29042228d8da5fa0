//! The items that the loops of a taskflow run over. No item is empty.

use super::Pair;
use crate::{Expert, Rank};

/// Consecutive rows that one rank sends to one expert, inside one row tile of `M` rows at the receiver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Piece<'a, const M: usize> {
    source: Rank,
    expert: Expert,
    first: usize,
    slots: &'a [i32],
    top_k: usize,
}

impl<'a, const M: usize> Piece<'a, M> {
    /// The rank that sends.
    #[must_use]
    pub const fn source(&self) -> Rank {
        self.source
    }

    /// The expert that receives.
    #[must_use]
    pub const fn expert(&self) -> Expert {
        self.expert
    }

    /// Position of the piece's first row among all rows that the expert's owner receives (for a piece of once-sent rows:
    /// among all once-sent rows).
    #[must_use]
    pub const fn first(&self) -> usize {
        self.first
    }

    /// Number of rows, 1 to `M`.
    #[must_use]
    pub const fn rows(&self) -> usize {
        self.slots.len()
    }

    /// The sender's slot of each row, `token * top_k + k`.
    #[must_use]
    pub const fn slots(&self) -> &'a [i32] {
        self.slots
    }

    pub(crate) const fn top_k(&self) -> usize {
        self.top_k
    }
}

/// At most `M` consecutive rows that a rank received for one expert.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RowTile<const M: usize> {
    expert: Expert,
    index: usize,
    first: usize,
    rows: usize,
}

impl<const M: usize> RowTile<M> {
    /// The expert that received the rows.
    #[must_use]
    pub const fn expert(&self) -> Expert {
        self.expert
    }

    /// The tile's number among the expert's row tiles, from 0.
    #[must_use]
    pub const fn index(&self) -> usize {
        self.index
    }

    /// Position of the tile's first row among all rows that the expert's owner receives.
    #[must_use]
    pub const fn first(&self) -> usize {
        self.first
    }

    /// Number of rows, 1 to `M`.
    #[must_use]
    pub const fn rows(&self) -> usize {
        self.rows
    }
}

/// At most `B` consecutive tokens of a rank.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TokenBlock<const B: usize> {
    first: usize,
    rows: usize,
}

impl<const B: usize> TokenBlock<B> {
    /// Number of the block's first token.
    #[must_use]
    pub const fn first(&self) -> usize {
        self.first
    }

    /// Number of tokens, 1 to `B`.
    #[must_use]
    pub const fn rows(&self) -> usize {
        self.rows
    }
}

/// The pieces of a pair. Piece i covers the expert's rows `[max(at, m·M), min(at + rows, (m + 1)·M))`, where m = at / M
/// + i.
pub(super) fn sends<const M: usize>(
    source: Rank,
    expert: Expert,
    top_k: usize,
    pair: Pair,
    order: &[i32],
) -> impl Iterator<Item = Piece<'_, M>> {
    const { assert!(M > 0, "a piece has at least one row") };
    let Pair { rows, at, base, order: place } = pair;
    let tiles = if rows == 0 { 0..0 } else { at / M..(at + rows).div_ceil(M) };
    tiles.map(move |m| {
        let start = at.max(m * M);
        let end = (at + rows).min((m + 1) * M);
        let slots = &order[place + start - at..place + end - at];
        Piece { source, expert, first: base + start, slots, top_k }
    })
}

/// The row tiles of an expert that has `rows` rows from row `base` on.
pub(super) fn row_tiles<const M: usize>(expert: Expert, base: usize, rows: usize) -> impl Iterator<Item = RowTile<M>> {
    const { assert!(M > 0, "a row tile has at least one row") };
    (0..rows.div_ceil(M)).map(move |index| RowTile {
        expert,
        index,
        first: base + index * M,
        rows: M.min(rows - index * M),
    })
}

/// The blocks of `tokens` tokens, the first of which is `first`.
pub(crate) fn token_blocks<const B: usize>(first: usize, tokens: usize) -> impl Iterator<Item = TokenBlock<B>> {
    const { assert!(B > 0, "a block has at least one token") };
    (0..tokens.div_ceil(B)).map(move |index| TokenBlock { first: first + index * B, rows: B.min(tokens - index * B) })
}
