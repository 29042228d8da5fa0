//! Tokens that are sent once to each rank, regardless of how many of the rank's experts they go to.
//!
//! A token is stored under the lowest-numbered expert of the rank that it goes to. Once-sent rows have the order of
//! received rows: by that expert, then by source rank, then in the sender's order. All rows that an expert needs
//! therefore arrive no later than the expert's own rows.

use super::order::{SourceOrder, token};
use super::placed::Placed;
use super::{Pair, Piece, Route, pieces};
use crate::{Expert, Rank};

impl Route {
    fn once(&self) -> &Placed {
        assert!(
            !self.places.has_copies(),
            "tokens can't be sent once to each rank while an expert has several places: give each expert one"
        );
        let sent_once = |source: &SourceOrder| source.once(self.top_k, &self.places);
        self.once.get_or_place(|| Placed::new(self.each.sources().iter().map(sent_once).collect(), &self.places))
    }

    /// The slots of a rank, `token * top_k + k`, for which a row is sent if each token is sent once to each rank: sorted by
    /// logical expert; the slots of each expert ascend.
    ///
    /// # Panics
    ///
    /// If a logical expert has several physical ones.
    #[must_use]
    pub fn order_once(&self, rank: Rank) -> &[i32] {
        self.once().order(rank)
    }

    /// Number of rows that a rank receives if each token is sent to the rank only once.
    ///
    /// # Panics
    ///
    /// If a logical expert has several physical ones.
    #[must_use]
    pub fn received_once(&self, rank: Rank) -> usize {
        self.experts_of(rank).map(|e| self.expert_rows_once(e)).sum()
    }

    /// Number of once-sent rows that an expert's owner stores under the expert. A token's once-sent row is stored under the
    /// lowest-numbered of the owner's experts that the token goes to.
    ///
    /// # Panics
    ///
    /// If a logical expert has several physical ones.
    #[must_use]
    pub fn expert_rows_once(&self, expert: Expert) -> usize {
        self.once().rows(expert)
    }

    /// The once-sent rows that `source` sends and that are stored under `expert`. [`Pair::order`] is a position in
    /// [`order_once`](Self::order_once), and [`Pair::base`] counts once-sent rows.
    ///
    /// # Panics
    ///
    /// If a logical expert has several physical ones.
    #[must_use]
    pub fn pair_once(&self, source: Rank, expert: Expert) -> Pair {
        self.once().pair(source, expert)
    }

    /// The pieces of once-sent rows that `source` sends and that are stored under `expert`. The owner's other experts read
    /// the same rows. Pieces are cut at the boundaries of row tiles of `M` once-sent rows. No piece is empty.
    ///
    /// # Panics
    ///
    /// If a logical expert has several physical ones.
    pub fn sends_once<const M: usize>(
        &self,
        source: Rank,
        expert: Expert,
    ) -> impl Iterator<Item = Piece<'_, M>> + use<'_, M> {
        pieces::sends(source, expert, self.top_k(), self.pair_once(source, expert), self.order_once(source))
    }

    /// For each (token, k) row that a rank receives: the number of the token's once-sent row on that rank. Panics if a
    /// logical expert has several physical ones.
    #[must_use]
    #[expect(clippy::missing_panics_doc, reason = "a route numbers rows by i32")]
    pub fn rows_once(&self, rank: Rank) -> Vec<i32> {
        let mut rows = vec![0; self.received(rank)];
        for source in self.ranks() {
            let mut row_of = vec![0; self.tokens(source)];
            for e in self.experts_of(rank) {
                let pair = self.pair_once(source, e);
                for (row, &slot) in (pair.base + pair.at..).zip(&self.order_once(source)[pair.order..][..pair.rows]) {
                    row_of[token(slot, self.top_k())] =
                        i32::try_from(row).expect("there are fewer once-sent rows than received rows");
                }
            }
            for e in self.experts_of(rank) {
                let pair = self.pair(source, e);
                let slots = &self.order(source)[pair.order..][..pair.rows];
                let here = &mut rows[pair.base + pair.at..][..pair.rows];
                for (row, &slot) in here.iter_mut().zip(slots) {
                    *row = row_of[token(slot, self.top_k())];
                }
            }
        }
        rows
    }

    /// The sender's slot, `token * top_k + k`, of each row that a rank receives.
    #[must_use]
    pub fn origins(&self, rank: Rank) -> Vec<i32> {
        let slots = |e| {
            self.ranks().into_iter().flat_map(move |source| {
                let pair = self.pair(source, e);
                &self.order(source)[pair.order..][..pair.rows]
            })
        };
        self.experts_of(rank).flat_map(slots).copied().collect()
    }
}
