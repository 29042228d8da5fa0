//! Dense tensors: one row per token.

use std::fmt;

use super::buffer::CellBuffer;
use super::tile::TileRows;
use crate::route::token_blocks;
use crate::{Element, Float, PerRank, Piece, Rank, Ranks, Tile, TokenBlock};

/// Rows of `C` elements, one per token of a rank, without gaps.
///
/// Elements are cells, so that one call can read one tile of a tensor and write another.
#[derive(Clone)]
pub struct Tensor<T: Element, const C: usize> {
    cells: CellBuffer<T>,
    /// Number of the token that the first row belongs to.
    first_token: usize,
}

impl<T: Element, const C: usize> Tensor<T, C> {
    /// Makes `rows` rows in which every bit is set. The first row belongs to token `first_token`.
    pub(crate) fn poisoned(first_token: usize, rows: usize) -> Self {
        Self { cells: CellBuffer::filled(rows * C, T::POISON), first_token }
    }

    /// Makes `rows` rows of zeros.
    #[must_use]
    pub fn zeros(rows: usize) -> Self {
        Self { cells: CellBuffer::filled(rows * C, T::default()), first_token: 0 }
    }

    /// Makes a tensor from its values, row after row.
    ///
    /// # Panics
    ///
    /// If `C` is 0, or the number of values is not a multiple of `C`.
    #[must_use]
    pub fn from_slice(values: &[T]) -> Self {
        assert!(
            C > 0 && values.len() % C == 0,
            "a tensor of {C} columns can't be made of {} values: pass whole rows",
            values.len()
        );
        Self { cells: CellBuffer::copied(values), first_token: 0 }
    }

    /// Makes a tensor from its values, row after row, like [`from_slice`](Self::from_slice).
    ///
    /// # Panics
    ///
    /// If `C` is 0, or the number of values is not a multiple of `C`.
    #[must_use]
    pub fn from_vec(values: Vec<T>) -> Self {
        Self::from_slice(&values)
    }

    /// Number of rows.
    #[must_use]
    pub fn row_count(&self) -> usize {
        self.cells.len() / C
    }

    /// A copy of one row.
    ///
    /// # Panics
    ///
    /// If there is no such row.
    #[must_use]
    pub fn row(&self, row: usize) -> Vec<T> {
        self.cells[row * C..(row + 1) * C].iter().map(std::cell::Cell::get).collect()
    }

    /// All elements, row after row.
    #[must_use]
    pub fn to_vec(&self) -> Vec<T> {
        self.cells.to_vec()
    }

    /// Sets all elements to `value`.
    pub fn fill(&mut self, value: T) {
        self.cells.iter().for_each(|cell| cell.set(value));
    }

    /// Copies all elements from `values`, row after row.
    ///
    /// # Panics
    ///
    /// If `values.len()` differs from the number of elements.
    pub fn copy_from(&mut self, values: &[T]) {
        assert_eq!(self.cells.len(), values.len(), "a tensor takes as many values as it has elements");
        self.cells.iter().zip(values).for_each(|(cell, value)| cell.set(*value));
    }

    /// The address of the first element: 512-byte aligned, valid for reads and writes of `row_count() * C` elements while the
    /// tensor lives. Nothing on the host may use the tensor while a kernel does.
    #[must_use]
    pub fn address(&self) -> *const T {
        self.cells.as_ptr().cast()
    }

    /// The rows of a block of tokens.
    #[must_use]
    pub fn rows<const B: usize>(&self, block: TokenBlock<B>) -> Tile<'_, T, B, C> {
        Tile::new(&self.cells, C, TileRows::Range { first: block.first() - self.first_token, count: block.rows() })
    }

    /// For each slot of a piece, the row of the slot's token.
    #[must_use]
    pub fn gather<'a, const M: usize>(&'a self, piece: &Piece<'a, M>) -> Tile<'a, T, M, C> {
        let (list, per_row) = (piece.slots(), piece.top_k());
        Tile::new(&self.cells, C, TileRows::Listed { list, per_row, before: self.first_token })
    }
}

impl<T: Float, const C: usize> Tensor<T, C> {
    /// Makes a tensor from its values, row after row, each rounded to `T`.
    ///
    /// # Panics
    ///
    /// If `C` is 0, or the number of values is not a multiple of `C`.
    #[must_use]
    pub fn from_f32(values: &[f32]) -> Self {
        Self::from_vec(values.iter().map(|value| T::from_f32(*value)).collect())
    }

    /// All elements, row after row, widened to f32.
    #[must_use]
    pub fn to_f32(&self) -> Vec<f32> {
        self.cells.iter().map(|cell| cell.get().to_f32()).collect()
    }
}

impl<T: Element, const C: usize> PartialEq for Tensor<T, C> {
    fn eq(&self, other: &Self) -> bool {
        self.cells[..] == other.cells[..]
    }
}

impl<T: Element, const C: usize> fmt::Debug for Tensor<T, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tensor<{}, {C}>[{} rows]", T::TYPE, self.row_count())
    }
}

/// A source for the number of tokens of each rank: a route, or a tensor with a row per token.
pub trait RankTokens {
    /// The number of a rank's first token (0, except in a later chunk), and the count of the rank's tokens.
    fn rank_tokens(&self, rank: Rank) -> (usize, usize);
}

impl<T: Element, const C: usize> RankTokens for PerRank<Tensor<T, C>> {
    fn rank_tokens(&self, rank: Rank) -> (usize, usize) {
        (self[rank].first_token, self[rank].row_count())
    }
}

impl<X: RankTokens> RankTokens for &X {
    fn rank_tokens(&self, rank: Rank) -> (usize, usize) {
        (**self).rank_tokens(rank)
    }
}

impl<X: RankTokens> RankTokens for &mut X {
    fn rank_tokens(&self, rank: Rank) -> (usize, usize) {
        (**self).rank_tokens(rank)
    }
}

impl PerRank<()> {
    /// A [`Tensor`] on each rank with one row per token, in private memory. Every bit starts set. `of` provides the numbers
    /// of tokens: it is a route or, before there is a route, another tensor with one row per token.
    #[must_use]
    pub fn tokens<T: Element, const C: usize>(ep: Ranks, of: &impl RankTokens) -> PerRank<Tensor<T, C>> {
        PerRank::from_fn(ep, |rank| {
            let (first, tokens) = of.rank_tokens(rank);
            Tensor::poisoned(first, tokens)
        })
    }
}

impl<T: Element, const C: usize> PerRank<Tensor<T, C>> {
    /// The tokens of a rank, `B` at a time, like [`Route::token_blocks`](crate::Route::token_blocks), for use before
    /// there is a route. No block is empty.
    pub fn token_blocks<const B: usize>(&self, rank: Rank) -> impl Iterator<Item = TokenBlock<B>> + use<T, C, B> {
        let (first, tokens) = self.rank_tokens(rank);
        token_blocks(first, tokens)
    }
}
