//! Tensors that a taskflow makes for itself: rows received from other ranks, and slots for results.
//!
//! Their memory starts with all bits set, so that reading before writing shows as NaN.

use crate::buffer::Buffer;
use crate::tile::Rows;
use crate::{Element, Expert, Experts, PerRank, Piece, Rank, Ranks, Route, RowTile, Tensor, Tile, TokenBlock};

/// A row of `C` elements for each token that a rank receives: by expert, then source rank, then the sender's order.
pub struct Received<T, const C: usize> {
    cells: Buffer<T>,
    rank: Rank,
    /// First row and number of rows of each expert of the rank.
    experts: Vec<(usize, usize)>,
}

impl<T: Element, const C: usize> Received<T, C> {
    /// Number of rows.
    #[must_use]
    pub fn row_count(&self) -> usize {
        self.cells.len() / C
    }

    /// A tile of the rows received for an expert of this rank.
    ///
    /// # Panics
    ///
    /// When this rank does not own the expert, or the row tile is not one of the expert's.
    #[must_use]
    pub fn group<const M: usize>(&self, expert: Expert, tile: RowTile<M>) -> Tile<'_, T, M, C> {
        assert_eq!(expert.owner(), self.rank, "{expert} does not live on {}", self.rank);
        assert_eq!(tile.expert(), expert, "the row tile is one of {}, not of {expert}", tile.expert());
        Tile::new(&self.cells, C, Rows::Range { first: tile.first(), count: tile.rows() })
    }

    /// All rows received for an expert of this rank, zero included. `R` is [`RAGGED`](crate::RAGGED).
    ///
    /// # Panics
    ///
    /// When this rank does not own the expert.
    #[must_use]
    pub fn expert<const R: usize>(&self, expert: Expert) -> Tile<'_, T, R, C> {
        assert_eq!(expert.owner(), self.rank, "{expert} does not live on {}", self.rank);
        let (first, count) = self.experts[expert.local()];
        Tile::new(&self.cells, C, Rows::Range { first, count })
    }

    /// All elements, row after row.
    #[must_use]
    pub fn to_vec(&self) -> Vec<T> {
        self.cells.to_vec()
    }

    /// Where the elements lie: 512-byte aligned, valid for reads and writes of `row_count() * C` elements while this
    /// lives. Nothing on the host may use it while a kernel does.
    #[must_use]
    pub fn address(&self) -> *const T {
        self.cells.as_ptr().cast()
    }

    /// The rows that a piece covers at its receiver.
    ///
    /// # Panics
    ///
    /// When this rank is not the piece's receiver.
    #[must_use]
    pub fn rows_of<'a, const M: usize>(&'a self, piece: &Piece<'_, M>) -> Tile<'a, T, M, C> {
        assert_eq!(piece.expert().owner(), self.rank, "{} does not live on {}", piece.expert(), self.rank);
        Tile::new(&self.cells, C, Rows::Range { first: piece.first(), count: piece.rows() })
    }
}

/// A row of `C` elements for each (token, k) of a rank: row `token * top_k + k`, counted from the route's first token.
pub struct Slots<T, const C: usize> {
    cells: Buffer<T>,
    rank: Rank,
    top_k: usize,
    /// The slot of the first row.
    first_slot: usize,
}

impl<T: Element, const C: usize> Slots<T, C> {
    /// Number of rows.
    #[must_use]
    pub fn row_count(&self) -> usize {
        self.cells.len() / C
    }

    /// The slots of the rows of a piece, which this rank sent.
    ///
    /// # Panics
    ///
    /// When another rank sent the piece.
    #[must_use]
    pub fn scatter<'a, const M: usize>(&'a self, piece: &Piece<'a, M>) -> Tile<'a, T, M, C> {
        assert_eq!(piece.source(), self.rank, "the piece was sent by {}, not by {}", piece.source(), self.rank);
        Tile::new(&self.cells, C, Rows::Listed { list: piece.slots(), per_row: 1, before: self.first_slot })
    }

    /// The slots of the rows of a piece, which this rank sends: for reading what [`scatter`](Self::scatter) is for
    /// writing.
    ///
    /// # Panics
    ///
    /// When another rank sends the piece.
    #[must_use]
    pub fn gather<'a, const M: usize>(&'a self, piece: &Piece<'a, M>) -> Tile<'a, T, M, C> {
        self.scatter(piece)
    }

    /// Sets all elements, row after row.
    ///
    /// # Panics
    ///
    /// When there are not `row_count() * C` values.
    pub fn copy_from(&mut self, values: &[T]) {
        assert_eq!(values.len(), self.cells.len(), "{} rows of {C} take as many values", self.row_count());
        for (cell, value) in self.cells.iter().zip(values) {
            cell.set(*value);
        }
    }

    /// All elements, row after row.
    #[must_use]
    pub fn to_vec(&self) -> Vec<T> {
        self.cells.to_vec()
    }

    /// Where the elements lie: 512-byte aligned, valid for reads and writes of `row_count() * C` elements while this
    /// lives. Nothing on the host may use it while a kernel does.
    #[must_use]
    pub fn address(&self) -> *const T {
        self.cells.as_ptr().cast()
    }

    /// The slots of a block of tokens, `top_k` rows for each. `R` must be `B * top_k`.
    ///
    /// # Panics
    ///
    /// When it is not.
    #[must_use]
    pub fn slots<const R: usize, const B: usize>(&self, block: TokenBlock<B>) -> Tile<'_, T, R, C> {
        let top_k = self.top_k;
        assert_eq!(R, B * top_k, "{B} tokens with {top_k} slots each are not a tile of {R} rows");
        let first = block.first() * top_k - self.first_slot;
        Tile::new(&self.cells, C, Rows::Range { first, count: block.rows() * top_k })
    }
}

impl<T: Element, const C: usize> PartialEq for Received<T, C> {
    /// The same rows of the same experts.
    fn eq(&self, other: &Self) -> bool {
        self.experts == other.experts && self.cells[..] == other.cells[..]
    }
}

impl<T: Element, const C: usize> PartialEq for Slots<T, C> {
    fn eq(&self, other: &Self) -> bool {
        self.cells[..] == other.cells[..]
    }
}

impl PerRank<()> {
    /// Rows received that other ranks may write: [`Received`] in symmetric memory.
    #[must_use]
    pub fn symmetric<T: Element, const C: usize>(ep: Ranks, route: &Route) -> PerRank<Received<T, C>> {
        PerRank::from_fn(ep, |rank| {
            let cells = Buffer::filled(route.received(rank) * C, T::POISON);
            let experts = route.experts_of(rank).map(|e| (route.pair(Rank::new(0), e).base, route.expert_rows(e)));
            Received { cells, rank, experts: experts.collect() }
        })
    }

    /// Rows received that only their rank sees: [`Received`] in private memory. On the host there is no difference.
    #[must_use]
    pub fn ragged<T: Element, const C: usize>(ep: Ranks, route: &Route) -> PerRank<Received<T, C>> {
        Self::symmetric(ep, route)
    }

    /// A row for each token of the rank, in private memory: [`Tensor`].
    #[must_use]
    pub fn tokens<T: Element, const C: usize>(ep: Ranks, route: &Route) -> PerRank<Tensor<T, C>> {
        PerRank::from_fn(ep, |rank| Tensor::poisoned(route.first_token(rank), route.tokens(rank)))
    }

    /// An N×K matrix for each expert, in private memory: [`Experts`].
    #[must_use]
    pub fn experts<T: Element, const N: usize, const K: usize>(ep: Ranks, route: &Route) -> PerRank<Experts<T, N, K>> {
        PerRank::from_fn(ep, |_| Experts::poisoned(route.local_experts()))
    }

    /// A slot for each (token, k), in symmetric memory: [`Slots`].
    #[must_use]
    pub fn slots<T: Element, const C: usize>(ep: Ranks, route: &Route) -> PerRank<Slots<T, C>> {
        let top_k = route.top_k();
        PerRank::from_fn(ep, |rank| {
            let cells = Buffer::filled(route.tokens(rank) * top_k * C, T::POISON);
            Slots { cells, rank, top_k, first_slot: route.first_token(rank) * top_k }
        })
    }
}
