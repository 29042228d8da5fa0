//! Received rows of tokens that are sent once to each rank.

use super::buffer::CellBuffer;
use super::tile::TileRows;
use crate::{Element, Expert, PerRank, Piece, Rank, Ranks, Route, RowTile, Tile};

/// One row of `C` elements per token that a rank receives, however many of the rank's experts the token goes to. Rows
/// are ordered by the token's lowest-numbered expert on the rank, then by source rank, then in the sender's order.
pub struct Once<T, const C: usize> {
    cells: CellBuffer<T>,
    rank: Rank,
    /// For each row that is received for an expert, the number of the once-sent row of the same token.
    rows: Vec<i32>,
}

impl<T: Element, const C: usize> Once<T, C> {
    /// Number of rows.
    #[must_use]
    pub fn row_count(&self) -> usize {
        self.cells.len() / C
    }

    /// All elements, row after row.
    #[must_use]
    pub fn to_vec(&self) -> Vec<T> {
        self.cells.to_vec()
    }

    /// The address of the first element: 512-byte aligned, valid for reads and writes of `row_count() * C` elements
    /// while `self` lives. Nothing on the host may use the elements while a kernel does.
    #[must_use]
    pub fn address(&self) -> *const T {
        self.cells.as_ptr().cast()
    }

    /// The rows that a piece of [`Route::sends_once`] covers at its receiver.
    ///
    /// # Panics
    ///
    /// If this rank is not the piece's receiver.
    #[must_use]
    pub fn rows_of<'a, const M: usize>(&'a self, piece: &Piece<'_, M>) -> Tile<'a, T, M, C> {
        assert_eq!(piece.expert().owner(), self.rank, "{} is not on {}", piece.expert(), self.rank);
        Tile::new(&self.cells, C, TileRows::Range { first: piece.first(), count: piece.rows() })
    }

    /// A tile with one row for each row of an expert's row tile: the once-sent row of the same token.
    ///
    /// # Panics
    ///
    /// If this rank does not own the expert, or the row tile belongs to another expert.
    #[must_use]
    pub fn gather<const M: usize>(&self, expert: Expert, tile: RowTile<M>) -> Tile<'_, T, M, C> {
        assert_eq!(expert.owner(), self.rank, "{expert} is not on {}", self.rank);
        assert_eq!(tile.expert(), expert, "the row tile is one of {}, not of {expert}", tile.expert());
        let list = &self.rows[tile.first()..][..tile.rows()];
        Tile::new(&self.cells, C, TileRows::Listed { list, per_row: 1, before: 0 })
    }
}

impl<T: Element, const C: usize> PartialEq for Once<T, C> {
    /// Whether both have equal rows, and the same once-sent row for each received row.
    fn eq(&self, other: &Self) -> bool {
        self.rows == other.rows && self.cells[..] == other.cells[..]
    }
}

impl PerRank<()> {
    /// [`Once`] on each rank, in symmetric memory, where other ranks write one row per token. Every bit starts set.
    ///
    /// # Panics
    ///
    /// If a logical expert has several physical ones.
    #[must_use]
    pub fn once<T: Element, const C: usize>(ep: Ranks, route: &Route) -> PerRank<Once<T, C>> {
        PerRank::from_fn(ep, |rank| {
            let cells = CellBuffer::filled(route.received_once(rank) * C, T::POISON);
            Once { cells, rank, rows: route.rows_once(rank) }
        })
    }
}
