//! Routing: the expert that each row of each rank goes to.
//!
//! A [`Route`] is made from the router's expert ids. It holds counts, prefix sums and a stable order, from which the loops
//! of a taskflow and the tables of a launch follow.
//!
//! - Ids name logical experts. An [`Expert`] is a physical one, a place that holds the weights of a logical expert or none. Without a
//!   [`Placement`] each logical expert has one physical expert, and consecutive logical experts lie on each rank.
//! - Rank r sends one row for each of its (token, k) whose id names an expert; the others are empty slots. The non-empty slots,
//!   `token * top_k + k`, sorted by logical expert and otherwise kept in order, are the rank's [`order`](Route::order).
//! - The rows that a rank receives lie by expert, then by source rank, then in the sender's order.
//! - A token that is sent once to each rank is stored under the first of the rank's experts that it goes to, in the same
//!   order as the other rows of that expert.
//! - A route can be cut into [`chunks`](Route::chunks), each with its own route for some tokens of each rank. Tokens keep
//!   their numbers.

mod arrival_order;
mod chunks;
mod error;
mod gather;
mod groups;
mod kept;
mod load;
mod made;
mod once;
mod order;
mod pair;
mod parts;
mod pieces;
mod placed;
mod rank;
mod turns;

pub use arrival_order::arrival_order;
pub use chunks::{ChosenChunks, choose_chunks, chunk_counts, chunk_parts, chunk_tokens};
pub use error::RouteError;
pub use gather::Exchange;
pub use groups::most_of_a_token;
pub use kept::{COUNT_LINE, KEPT, KEPT_CHUNKS, KEPT_HEAD, KEPT_PLACEMENT, KEPT_SLOTS, KeptWords, Routed};
pub use load::{ExpertOrder, ExpertOrders, by_load, lightest_first, mixed};
pub use made::RouteSource;
pub use pair::Pair;
pub(crate) use pieces::token_blocks;
pub use pieces::{Piece, RowTile, TokenBlock};
pub use rank::{Expert, Rank, Ranks};
pub use turns::{PairTurns, PieceTurns};

use crate::placement::Places;
use crate::{LogicalExpert, PerRank, Placement, RankTokens, Tensor};
use order::SourceOrder;
use placed::{OncePlaced, Part, Placed};
use std::ops::Range;

/// The expert of each rank's (token, k), and the position of its row among the expert's rows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Route {
    ranks: Ranks,
    top_k: usize,
    places: Places,
    /// Number of a token's slots for each group of experts; 0 if any slot may name any expert.
    group_slots: usize,
    /// Number of each rank's first token.
    first_tokens: Vec<usize>,
    /// Positions of the rows of all (token, k).
    each: Placed,
    /// Positions of the rows of tokens that are sent once to each rank.
    once: OncePlaced,
}

impl Route {
    /// Makes a route from the router's expert ids, one row of `K` per token on each rank, for a group with `experts`
    /// experts. An id of -1 names no expert: the slot is empty, and nothing is sent for it.
    ///
    /// ```
    /// use hpmoe_kernels::{PerRank, Ranks, Route, Tensor};
    ///
    /// // Two ranks with two experts each; rank 0 has two tokens, rank 1 none.
    /// let ids = PerRank::from_vec(vec![Tensor::<i32, 2>::from_slice(&[0, 3, 3, 1]), Tensor::zeros(0)]);
    /// let route = Route::new(Ranks::new(2), 4, &ids)?;
    /// let rows: Vec<usize> = route.experts().map(|e| route.expert_rows(e)).collect();
    /// assert_eq!(rows, [1, 1, 0, 2]);
    /// # Ok::<(), hpmoe_kernels::RouteError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If there are no ranks or no experts, `K` is 0, `ids` is not for this group, an id is neither -1 nor an expert's
    /// number, a token names an expert twice, or a rank would have more rows than fit an i32. Also if this process is one
    /// of several: use [`gather`](Self::gather), which exchanges the ids.
    pub fn new<const K: usize>(ep: Ranks, experts: usize, ids: &PerRank<Tensor<i32, K>>) -> Result<Self, RouteError> {
        Self::from_ids(ep, experts, K, &ids.map(Tensor::to_vec))
    }

    /// Like [`new`](Self::new), for a `top_k` (number of ids per token) that is known only at run time.
    ///
    /// # Errors
    ///
    /// As for [`new`](Self::new), or if `top_k` is 0 or a rank's number of ids is not a multiple of `top_k`.
    pub fn from_ids(ep: Ranks, experts: usize, top_k: usize, ids: &PerRank<Vec<i32>>) -> Result<Self, RouteError> {
        Self::with_places(ep, consecutive(ep, experts)?, top_k, ids)
    }

    /// Like [`new`](Self::new), for experts that lie where a placement says. Ids name logical experts; the route's
    /// loops run over physical ones.
    ///
    /// ```
    /// use hpmoe_kernels::{PerRank, Placement, Rank, Ranks, Route, Tensor};
    ///
    /// // Expert 0 has a physical expert on each rank.
    /// let placement = Placement::new(Ranks::new(2), 2, &[Some(0), Some(1), Some(0), None])?;
    /// let ids = PerRank::from_vec(vec![Tensor::<i32, 1>::from_slice(&[0, 1, 0, 0, 0]), Tensor::zeros(0)]);
    /// let route = Route::placed(&placement, &ids)?;
    /// let rows: Vec<usize> = route.experts().map(|e| route.expert_rows(e)).collect();
    /// assert_eq!(rows, [2, 1, 2, 0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As for [`new`](Self::new).
    pub fn placed<const K: usize>(placement: &Placement, ids: &PerRank<Tensor<i32, K>>) -> Result<Self, RouteError> {
        Self::from_placed_ids(placement, K, &ids.map(Tensor::to_vec))
    }

    /// Like [`placed`](Self::placed), for a `top_k` (number of ids per token) that is known only at run time.
    ///
    /// # Errors
    ///
    /// As for [`placed`](Self::placed), or if a rank's number of ids is not a multiple of `top_k`.
    pub fn from_placed_ids(placement: &Placement, top_k: usize, ids: &PerRank<Vec<i32>>) -> Result<Self, RouteError> {
        Self::with_places(placement.ranks(), placement.places().clone(), top_k, ids)
    }

    fn with_places(ep: Ranks, places: Places, top_k: usize, ids: &PerRank<Vec<i32>>) -> Result<Self, RouteError> {
        let ranks = ep.count();
        if ids.ranks() != ep {
            return Err(RouteError::Ranks { tensors: ids.ranks().count(), ranks });
        }
        if let Some(rank) = ep.only() {
            return Err(RouteError::Elsewhere { rank, ranks });
        }
        let sources = ep
            .into_iter()
            .map(|rank| SourceOrder::new(rank, places.experts(), top_k, &ids[rank]))
            .collect::<Result<Vec<_>, _>>()?;
        let each = Placed::new(sources, &places);
        let first_tokens = vec![0; ranks];
        let route = Self { ranks: ep, top_k, places, group_slots: 0, first_tokens, each, once: OncePlaced::default() };
        for rank in ep {
            order::fits(rank, "receive", route.received(rank))?;
        }
        Ok(route)
    }

    /// The routes of `C` chunks. Each chunk takes the next `⌈tokens / C⌉` tokens of each rank; the last chunks may have
    /// fewer tokens, or none.
    ///
    /// ```
    /// use hpmoe_kernels::{PerRank, Rank, Ranks, Route, Tensor};
    ///
    /// let ids = PerRank::from_vec(vec![Tensor::<i32, 1>::from_slice(&[0, 1, 1]), Tensor::zeros(1)]);
    /// let route = Route::new(Ranks::new(2), 2, &ids)?;
    /// let rows = |e| route.chunks::<2>().map(|chunk| chunk.expert_rows(e)).collect::<Vec<_>>();
    /// let [first, second] = [0, 1].map(|e| rows(route.experts().nth(e).unwrap()));
    /// assert_eq!((first, second), (vec![2, 0], vec![1, 1]));
    /// assert_eq!(route.chunks::<2>().map(|chunk| chunk.tokens(Rank::new(0))).collect::<Vec<_>>(), [2, 1]);
    /// # Ok::<(), hpmoe_kernels::RouteError>(())
    /// ```
    pub fn chunks<const C: usize>(&self) -> impl Iterator<Item = Self> {
        const { assert!(C > 0, "tokens are cut into at least one chunk") };
        (0..C).map(|chunk| self.chunk(chunk, C))
    }

    /// The route of chunk number `chunk` (from 0) if each rank's tokens are divided into `chunks` chunks, as by
    /// [`chunks`](Self::chunks).
    ///
    /// # Panics
    ///
    /// If `chunks` is 0.
    #[must_use]
    pub fn chunk(&self, chunk: usize, chunks: usize) -> Self {
        self.chunk_of(chunk, chunks, None)
    }

    /// Like [`chunk`](Self::chunk), also for kernels whose launches choose the number of chunks: `chosen` is the division
    /// of tokens, or `None` if the number of chunks is constant. Each chunk has the tokens that [`chunk_tokens`] computes.
    ///
    /// # Panics
    ///
    /// If `chunks` is 0.
    #[must_use]
    pub fn chunk_of(&self, chunk: usize, chunks: usize, chosen: Option<ChosenChunks>) -> Self {
        let tokens_of = |rank: Rank, chunk: usize, chunks: usize| {
            let (first, all) = (self.first_token(rank), self.tokens(rank));
            let most = chunk_tokens(all, chunks, chosen.map(|chosen| chosen.at_most));
            first + all.min(chunk * most)..first + all.min((chunk + 1) * most)
        };
        let tokens = |rank: Rank| tokens_of(rank, chunk, chunks);
        let chunk_order = |(rank, source): (Rank, &SourceOrder)| {
            let Range { start, end } = tokens(rank);
            source.only(start * self.top_k..end * self.top_k)
        };
        let sources = self.ranks.into_iter().zip(self.each.sources()).map(chunk_order).collect();
        let parts = |rank: Rank| match chosen {
            None => vec![Part::WHOLE],
            Some(ChosenChunks { shared, .. }) => {
                let of_chunk = (shared / chunks).max(1);
                let end = |part| tokens_of(rank, part, shared).end * self.top_k;
                (chunk * of_chunk..(chunk + 1) * of_chunk).map(|part| Part { number: part, end: end(part) }).collect()
            }
        };
        Self {
            first_tokens: self.ranks.into_iter().map(|rank| tokens(rank).start).collect(),
            each: Placed::in_parts(sources, &self.places, parts),
            once: OncePlaced::default(),
            places: self.places.clone(),
            ..*self
        }
    }

    /// The ranks of the group.
    #[must_use]
    pub const fn ranks(&self) -> Ranks {
        self.ranks
    }

    /// Number of logical experts; ids name logical experts.
    #[must_use]
    pub const fn expert_count(&self) -> usize {
        self.places.experts()
    }

    /// Number of physical experts on each rank, including empty places.
    #[must_use]
    pub const fn local_experts(&self) -> usize {
        self.places.local()
    }

    /// The logical expert that a physical expert holds; `None` if its place is empty.
    #[must_use]
    pub fn logical(&self, expert: Expert) -> Option<LogicalExpert> {
        self.places.expert(expert.id())
    }

    /// Whether each physical expert holds the logical expert with its own number.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.places.is_plain()
    }

    /// Whether any logical expert has several physical ones.
    #[must_use]
    pub fn has_copies(&self) -> bool {
        self.places.has_copies()
    }

    /// A hash of where the experts lie: the [`digest`](Placement::digest) of the placement.
    #[must_use]
    pub fn placement_digest(&self) -> u64 {
        self.places.digest()
    }

    /// The slots of a rank for each logical expert, in ascending order.
    fn slots_of_logical(&self, rank: Rank) -> impl Iterator<Item = (LogicalExpert, &[i32])> {
        let source = &self.each.sources()[rank.id()];
        (0..source.experts()).map(|e| (LogicalExpert::new(e), &source.slots()[source.first(e)..][..source.rows(e)]))
    }

    /// Number of ids per token. A token goes to one expert for each id that is not -1.
    #[must_use]
    pub const fn top_k(&self) -> usize {
        self.top_k
    }

    /// Number of tokens of a rank.
    #[must_use]
    pub fn tokens(&self, rank: Rank) -> usize {
        self.each.slots(rank) / self.top_k
    }

    /// The number of a rank's first token: 0, except in the route of a later chunk.
    #[must_use]
    pub fn first_token(&self, rank: Rank) -> usize {
        self.first_tokens[rank.id()]
    }

    /// The non-empty slots of a rank, `token * top_k + k`, sorted by logical expert; the slots of each expert ascend.
    #[must_use]
    pub fn order(&self, rank: Rank) -> &[i32] {
        self.each.order(rank)
    }

    /// For each slot of a rank, starting at its first token: whether the slot is empty (its id is -1). If no slot is empty,
    /// the list is empty.
    #[must_use]
    pub fn empty_slots(&self, rank: Rank) -> Vec<bool> {
        if self.order(rank).len() == self.each.slots(rank) {
            return Vec::new();
        }
        let first = self.first_token(rank) * self.top_k;
        let mut empty = vec![true; self.each.slots(rank)];
        for slot in self.order(rank) {
            empty[usize::try_from(*slot).expect("a route lists no negative slot") - first] = false;
        }
        empty
    }

    /// Number of rows that a rank receives: one for each (token, k) that goes to an expert of the rank.
    #[must_use]
    pub fn received(&self, rank: Rank) -> usize {
        self.experts_of(rank).map(|e| self.expert_rows(e)).sum()
    }

    /// Number of rows of an expert, from all ranks.
    #[must_use]
    pub fn expert_rows(&self, expert: Expert) -> usize {
        self.each.rows(expert)
    }

    /// The rows that `source` sends to `expert`.
    #[must_use]
    pub fn pair(&self, source: Rank, expert: Expert) -> Pair {
        self.each.pair(source, expert)
    }

    /// All physical experts of the group.
    pub fn experts(&self) -> impl Iterator<Item = Expert> + use<> {
        self.numbered(0..self.places.count())
    }

    /// The physical experts of a rank.
    pub fn experts_of(&self, rank: Rank) -> impl Iterator<Item = Expert> + use<> {
        let local = self.local_experts();
        self.numbered(rank.id() * local..(rank.id() + 1) * local)
    }

    fn numbered(&self, ids: Range<usize>) -> std::vec::IntoIter<Expert> {
        let experts: Vec<Expert> = ids.map(|id| Expert::new(id, self.local_experts(), self.each.place(id))).collect();
        experts.into_iter()
    }

    /// The pieces that `source` sends to `expert`, cut at the boundaries of the receiver's row tiles of `M` rows. No
    /// piece is empty.
    pub fn sends<const M: usize>(
        &self,
        source: Rank,
        expert: Expert,
    ) -> impl Iterator<Item = Piece<'_, M>> + use<'_, M> {
        pieces::sends(source, expert, self.top_k, self.pair(source, expert), self.order(source))
    }

    /// The rows of an expert, `M` at a time. No tile is empty.
    pub fn row_tiles<const M: usize>(&self, expert: Expert) -> impl Iterator<Item = RowTile<M>> + use<M> {
        let base = self.pair(Rank::new(0), expert).base;
        pieces::row_tiles(expert, base, self.expert_rows(expert))
    }

    /// The tokens of a rank, `B` at a time. No block is empty.
    pub fn token_blocks<const B: usize>(&self, rank: Rank) -> impl Iterator<Item = TokenBlock<B>> + use<B> {
        pieces::token_blocks(self.first_token(rank), self.tokens(rank))
    }
}

/// The places of experts if there is no placement: consecutive experts on each rank.
fn consecutive(ep: Ranks, experts: usize) -> Result<Places, RouteError> {
    Places::even(ep.count(), experts, 0).map_err(|_| RouteError::Experts { experts, ranks: ep.count() })
}

impl RankTokens for Route {
    fn rank_tokens(&self, rank: Rank) -> (usize, usize) {
        (self.first_token(rank), self.tokens(rank))
    }
}
