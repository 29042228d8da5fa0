//! Rows received from other ranks.

use super::buffer::CellBuffer;
use super::tile::TileRows;
use crate::{Element, Expert, PerRank, Piece, Rank, Ranks, Route, RowTile, Tile};

/// A row of `C` elements for each (token, k) that a rank receives. Rows are ordered by expert, then by source rank, then
/// in the sender's order.
pub struct Received<T, const C: usize> {
    cells: CellBuffer<T>,
    rank: Rank,
    /// First row and number of rows of each expert of the rank; `None` for a tensor with room for any route's rows.
    experts: Option<Vec<(usize, usize)>>,
}

impl<T: Element, const C: usize> Received<T, C> {
    /// Number of rows.
    #[must_use]
    pub fn row_count(&self) -> usize {
        self.cells.len() / C
    }

    /// A row tile of an expert of this rank.
    ///
    /// # Panics
    ///
    /// If another rank owns the expert, or the row tile belongs to another expert.
    #[must_use]
    pub fn group<const M: usize>(&self, expert: Expert, tile: RowTile<M>) -> Tile<'_, T, M, C> {
        assert_eq!(expert.owner(), self.rank, "{expert} is not on {}", self.rank);
        assert_eq!(tile.expert(), expert, "the row tile is one of {}, not of {expert}", tile.expert());
        Tile::new(&self.cells, C, TileRows::Range { first: tile.first(), count: tile.rows() })
    }

    /// All rows received for an expert of this rank, possibly none. `R` is [`RAGGED`](crate::RAGGED).
    ///
    /// # Panics
    ///
    /// If another rank owns the expert.
    #[must_use]
    pub fn expert<const R: usize>(&self, expert: Expert) -> Tile<'_, T, R, C> {
        assert_eq!(expert.owner(), self.rank, "{expert} is not on {}", self.rank);
        let (first, count) = self.experts.as_ref().map_or_else(|| expert.rows(), |experts| experts[expert.local()]);
        Tile::new(&self.cells, C, TileRows::Range { first, count })
    }

    /// The rows that a piece covers at its receiver.
    ///
    /// # Panics
    ///
    /// If the piece goes to another rank.
    #[must_use]
    pub fn rows_of<'a, const M: usize>(&'a self, piece: &Piece<'_, M>) -> Tile<'a, T, M, C> {
        assert_eq!(piece.expert().owner(), self.rank, "{} is not on {}", piece.expert(), self.rank);
        Tile::new(&self.cells, C, TileRows::Range { first: piece.first(), count: piece.rows() })
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

impl<T: Element, const C: usize> PartialEq for Received<T, C> {
    /// Whether both have the same rows for the same experts.
    fn eq(&self, other: &Self) -> bool {
        self.experts == other.experts && self.cells[..] == other.cells[..]
    }
}

impl PerRank<()> {
    /// [`Received`] on each rank in symmetric memory, which other ranks may write. Every bit starts set, so that reading
    /// before writing shows as NaN (as -1 in integers).
    #[must_use]
    pub fn symmetric<T: Element, const C: usize>(ep: Ranks, route: &Route) -> PerRank<Received<T, C>> {
        PerRank::from_fn(ep, |rank| {
            let cells = CellBuffer::filled(route.received(rank) * C, T::POISON);
            let experts = route.experts_of(rank).map(Expert::rows);
            Received { cells, rank, experts: Some(experts.collect()) }
        })
    }

    /// [`Received`] on each rank with room for `rows` rows of any route, for kernels that make their own route. A
    /// launch fills the first rows. Every bit starts set.
    #[must_use]
    pub fn with_room<T: Element, const C: usize>(ep: Ranks, rows: usize) -> PerRank<Received<T, C>> {
        PerRank::from_fn(ep, |rank| Received { cells: CellBuffer::filled(rows * C, T::POISON), rank, experts: None })
    }

    /// [`Received`] on each rank in private memory, which only the rank itself can access. On the host it does not
    /// differ from symmetric memory.
    #[must_use]
    pub fn ragged<T: Element, const C: usize>(ep: Ranks, route: &Route) -> PerRank<Received<T, C>> {
        Self::symmetric(ep, route)
    }
}
