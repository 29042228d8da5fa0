//! Rows of results, one for each (token, k) of a rank.

use super::buffer::CellBuffer;
use super::tile::TileRows;
use crate::{Element, PerRank, Piece, Rank, Ranks, Route, Tile, TokenBlock};

/// A row of `C` elements for each (token, k) of a rank: row `token * top_k + k`, with tokens counted from the route's first
/// token.
pub struct Slots<T, const C: usize> {
    cells: CellBuffer<T>,
    rank: Rank,
    top_k: usize,
    /// The slot of the first row.
    first_slot: usize,
    /// For each row, whether the route that the tensor was made for has no expert for it; empty if all rows have one.
    empty: Vec<bool>,
}

impl<T: Element, const C: usize> Slots<T, C> {
    /// Number of rows.
    #[must_use]
    pub fn row_count(&self) -> usize {
        self.cells.len() / C
    }

    /// The rows of a piece's slots, for writing on the rank that sent the piece.
    ///
    /// # Panics
    ///
    /// If another rank sent the piece.
    #[must_use]
    pub fn scatter<'a, const M: usize>(&'a self, piece: &Piece<'a, M>) -> Tile<'a, T, M, C> {
        assert_eq!(piece.source(), self.rank, "the piece was sent by {}, not by {}", piece.source(), self.rank);
        Tile::new(&self.cells, C, TileRows::Listed { list: piece.slots(), per_row: 1, before: self.first_slot })
    }

    /// The rows of a piece's slots, for reading on the rank that sends the piece.
    ///
    /// # Panics
    ///
    /// If another rank sends the piece.
    #[must_use]
    pub fn gather<'a, const M: usize>(&'a self, piece: &Piece<'a, M>) -> Tile<'a, T, M, C> {
        self.scatter(piece)
    }

    /// The rows of all slots of a block of tokens, `top_k` rows per token. Rows of empty slots load as zeros, and sums over
    /// k skip these rows.
    ///
    /// # Panics
    ///
    /// If `R` is not `B * top_k`.
    #[must_use]
    pub fn slots<const R: usize, const B: usize>(&self, block: TokenBlock<B>) -> Tile<'_, T, R, C> {
        let top_k = self.top_k;
        assert_eq!(R, B * top_k, "{B} tokens with {top_k} slots each are not a tile of {R} rows");
        let first = block.first() * top_k - self.first_slot;
        let count = block.rows() * top_k;
        let empty = self.empty.get(first..first + count).unwrap_or(&[]);
        Tile::new(&self.cells, C, TileRows::Range { first, count }).with_empty(empty)
    }

    /// Copies all elements from `values`, row after row.
    ///
    /// # Panics
    ///
    /// If `values.len()` is not `row_count() * C`.
    pub fn copy_from(&mut self, values: &[T]) {
        assert_eq!(
            values.len(),
            self.cells.len(),
            "{} rows of {C} columns need a value for each element",
            self.row_count()
        );
        for (cell, value) in self.cells.iter().zip(values) {
            cell.set(*value);
        }
    }

    /// All elements, row after row.
    #[must_use]
    pub fn to_vec(&self) -> Vec<T> {
        self.cells.to_vec()
    }

    /// The address of the first element: 512-byte aligned, valid for reads and writes of `row_count() * C` elements while
    /// the tensor lives. Nothing on the host may access the tensor while a kernel does.
    #[must_use]
    pub fn address(&self) -> *const T {
        self.cells.as_ptr().cast()
    }
}

impl<T: Element, const C: usize> PartialEq for Slots<T, C> {
    fn eq(&self, other: &Self) -> bool {
        self.cells[..] == other.cells[..]
    }
}

impl PerRank<()> {
    /// [`Slots`] on each rank, in symmetric memory. Every bit starts set, so that reading before writing shows as NaN
    /// (as -1 in integers).
    #[must_use]
    pub fn slots<T: Element, const C: usize>(ep: Ranks, route: &Route) -> PerRank<Slots<T, C>> {
        let top_k = route.top_k();
        PerRank::from_fn(ep, |rank| {
            let cells = CellBuffer::filled(route.tokens(rank) * top_k * C, T::POISON);
            let (first_slot, empty) = (route.first_token(rank) * top_k, route.empty_slots(rank));
            Slots { cells, rank, top_k, first_slot, empty }
        })
    }
}
