//! Routes that one launch keeps for a later one.

use super::Route;
use crate::route::chunk_tokens;
use crate::tensor::buffer::CellBuffer;
use crate::{PerRank, Placement, Rank, Ranks, RouteError};
use std::cell::Cell;

/// The first word of a kept route. Unwritten memory, which is all zeros or has all bits set, never holds this word.
#[doc(hidden)]
pub const KEPT: i32 = 0x726f_7574;
/// Number of words before the counts: one cache line.
#[doc(hidden)]
pub const KEPT_HEAD: usize = 16;
/// The distance between the counts of consecutive ranks is a multiple of this number of words.
#[doc(hidden)]
pub const COUNT_LINE: usize = 128;
/// Index of the head's word with the placement's digest; the digest is 0 if each place holds the expert with its own number.
#[doc(hidden)]
pub const KEPT_PLACEMENT: usize = 8;
/// Index of the head's word with the number of chunks that are counted; it is 0 for one chunk.
#[doc(hidden)]
pub const KEPT_CHUNKS: usize = 9;
/// A rank's list of ids and its list of slots are each padded to a multiple of this number of words: one block of 32 bytes.
#[doc(hidden)]
pub const KEPT_SLOTS: usize = 8;

/// Layout of a kept route: a head, the number of rows that each rank sends to each expert in each chunk, the ids of this
/// rank's slots, and this rank's slots sorted by expert.
#[doc(hidden)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KeptWords {
    /// Distance between the counts of consecutive ranks, in words.
    pub pitch: usize,
    /// Index of the word with the first count.
    pub counts: usize,
    /// Index of the word with the first id.
    pub ids: usize,
    /// Index of the first word of the slots sorted by expert.
    pub order: usize,
    /// Total number of words.
    pub end: usize,
}

impl KeptWords {
    /// The layout for a rank with `tokens` tokens, if rows are counted in `chunks` chunks.
    #[must_use]
    pub const fn new(ranks: usize, experts: usize, top_k: usize, chunks: usize, tokens: usize) -> Self {
        let pitch = chunks * experts.next_multiple_of(COUNT_LINE);
        let slots = (tokens * top_k).next_multiple_of(KEPT_SLOTS);
        let ids = KEPT_HEAD + ranks * pitch;
        Self { pitch, counts: KEPT_HEAD, ids, order: ids + slots, end: ids + 2 * slots }
    }

    /// The number of chunks with which the layout of a rank with `tokens` tokens has `words` words; `None` if no number of chunks
    /// gives this size.
    #[must_use]
    pub const fn chunks_of(ranks: usize, experts: usize, top_k: usize, tokens: usize, words: usize) -> Option<usize> {
        let without = Self::new(ranks, experts, top_k, 0, tokens).end;
        let of_chunk = Self::new(ranks, experts, top_k, 1, tokens).end - without;
        match words.checked_sub(without) {
            Some(counts) if counts > 0 && counts % of_chunk == 0 => Some(counts / of_chunk),
            _ => None,
        }
    }
}

/// The sizes that a kept route's head states, with the layout that follows from them.
struct KeptSizes {
    ranks: usize,
    experts: usize,
    chunks: usize,
    slots: usize,
    words: KeptWords,
}

/// The route of a launch on one rank, kept for later launches. A forward pass keeps its route by `route.keep(routed);`,
/// and the backward pass takes it by `let route = Route::of::<EXPERTS>(ep, routed);`. The ranks then don't exchange
/// counts again, and ids are neither counted nor sorted.
///
/// A `Routed` lies in the caller's memory, like any tensor of a launch, and records the ranks, experts and tokens that the
/// route is for. A new `Routed` is empty, with room for a route; a launch of a taskflow that keeps its route fills it,
/// and so does [`Route::keep`].
#[derive(Clone)]
pub struct Routed {
    cells: CellBuffer<i32>,
}

impl Routed {
    /// Number of words, which depends on the numbers of ranks, experts, chunks and slots.
    #[must_use]
    pub fn word_count(&self) -> usize {
        self.cells.len()
    }

    /// A copy of all words: head, counts, ids and slots by expert.
    #[must_use]
    pub fn to_vec(&self) -> Vec<i32> {
        self.cells.to_vec()
    }

    /// The address of the first word: 512-byte aligned, valid for reads and writes of all words while the value lives. Nothing on the
    /// host may access the words while a kernel does.
    #[must_use]
    pub fn address(&self) -> *const i32 {
        self.cells.as_ptr().cast()
    }

    /// Makes an empty `Routed` with room for `words` words.
    #[doc(hidden)]
    #[must_use]
    pub fn with_words(words: usize) -> Self {
        Self { cells: CellBuffer::filled(words, 0) }
    }

    /// The number of rows that `source` sends to each logical expert, by expert number. Every rank's `Routed` has the counts
    /// of all ranks. `None` if no route is kept, or if `source` is not a rank of the kept route.
    ///
    /// ```
    /// use hpmoe_kernels::{PerRank, Rank, Ranks, Route, Tensor};
    ///
    /// let (ep, ids) = (Ranks::new(1), PerRank::from_vec(vec![Tensor::<i32, 2>::from_slice(&[0, 3, -1, 3])]));
    /// let mut routed = PerRank::routed(ep, 4, 2, &ids.map(Tensor::row_count));
    /// assert_eq!(routed[Rank::new(0)].rows_from(Rank::new(0)), None);
    /// Route::of::<4>(ep, &ids).keep(&mut routed);
    /// assert_eq!(routed[Rank::new(0)].rows_from(Rank::new(0)), Some(vec![1, 0, 0, 2]));
    /// ```
    #[must_use]
    pub fn rows_from(&self, source: Rank) -> Option<Vec<usize>> {
        let KeptSizes { ranks, experts, chunks, words, .. } = self.sizes()?;
        if source.id() >= ranks {
            return None;
        }
        let counts = self.cells.get(words.counts + source.id() * words.pitch..)?.get(..chunks * experts)?;
        // A count is stored plus one.
        let rows = |expert| {
            counts[expert..].iter().step_by(experts).map(|count| usize::try_from(count.get() - 1).unwrap_or(0))
        };
        Some((0..experts).map(|expert| rows(expert).sum()).collect())
    }

    /// The head of the kept route, without the launch number.
    fn head(&self) -> [i32; 9] {
        let word = |at: usize| self.cells.get(at).map_or(0, Cell::get);
        [0, 2, 3, 4, 5, 6, 7, KEPT_PLACEMENT, KEPT_CHUNKS].map(word)
    }

    /// The sizes that the head states; `None` if no route is kept.
    fn sizes(&self) -> Option<KeptSizes> {
        let [kept, ranks, _, experts, top_k, tokens, _, _, chunks] = self.head();
        let [ranks, experts, top_k, tokens, chunks] =
            [ranks, experts, top_k, tokens, chunks.max(1)].map(|word| usize::try_from(word).unwrap_or(0));
        let words = KeptWords::new(ranks, experts, top_k, chunks, tokens);
        (kept == KEPT).then_some(KeptSizes { ranks, experts, chunks, slots: tokens * top_k, words })
    }

    /// The words of the counts, of the ids and of the slots by expert, without unused words.
    fn words(&self) -> [&[Cell<i32>]; 3] {
        let Some(KeptSizes { slots, words, .. }) = self.sizes() else { return [&[]; 3] };
        let part = |from: usize, count: usize| self.cells.get(from..from + count).unwrap_or_default();
        let ids = part(words.ids, slots);
        let sent = ids.iter().filter(|id| id.get() >= 0).count();
        [part(words.counts, words.ids - words.counts), ids, part(words.order, sent)]
    }

    fn launch(&self) -> i32 {
        self.cells.get(1).map_or(0, Cell::get)
    }

    /// Checks that this is `rank`'s part of a route with these numbers of ranks and experts and this placement digest. Returns the number
    /// of ids per token, and the ids.
    fn ids(&self, rank: Rank, ranks: usize, experts: usize, placement: u32) -> Result<(usize, Vec<i32>), RouteError> {
        let [kept, of_ranks, of_rank, of_experts, top_k, tokens, _, placed, chunks] = self.head();
        let whole = |word: i32| usize::try_from(word).unwrap_or(0);
        if kept != KEPT {
            return Err(RouteError::NotKept { rank });
        }
        for (what, found, wanted) in
            [("ranks", of_ranks, ranks), ("rank", of_rank, rank.id()), ("experts", of_experts, experts)]
        {
            if whole(found) != wanted {
                return Err(RouteError::KeptFor { rank, what, found: whole(found), wanted });
            }
        }
        if placed as u32 != placement {
            return Err(RouteError::KeptPlaced { rank });
        }
        let (top_k, tokens) = (whole(top_k), whole(tokens));
        let words = KeptWords::new(ranks, experts, top_k, whole(chunks).max(1), tokens);
        if words.end != self.cells.len() {
            return Err(RouteError::KeptFor { rank, what: "words", found: self.cells.len(), wanted: words.end });
        }
        Ok((top_k, self.cells[words.ids..words.ids + tokens * top_k].iter().map(Cell::get).collect()))
    }
}

impl PartialEq for Routed {
    /// Whether both hold the same route, even if different launches kept it.
    fn eq(&self, other: &Self) -> bool {
        self.head() == other.head() && self.words() == other.words()
    }
}

impl std::fmt::Debug for Routed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [kept, ranks, rank, experts, top_k, tokens, ..] = self.head();
        match kept {
            KEPT => write!(f, "route of rank {rank} of {ranks}: {tokens} tokens, {top_k} of {experts} experts each"),
            _ => write!(f, "no route"),
        }
    }
}

impl PerRank<()> {
    /// A [`Routed`] on each rank, with room for a route of `tokens[rank]` tokens in one chunk. Each `Routed` is empty
    /// until a route is kept in it.
    ///
    /// ```
    /// use hpmoe_kernels::{PerRank, Ranks, Route, Tensor};
    ///
    /// let (ep, ids) = (Ranks::new(1), PerRank::from_vec(vec![Tensor::<i32, 2>::from_slice(&[0, 3, -1, 1])]));
    /// let mut routed = PerRank::routed(ep, 4, 2, &ids.map(Tensor::row_count));
    /// let route = Route::of::<4>(ep, &ids);
    /// route.keep(&mut routed);
    /// assert_eq!(Route::of::<4>(ep, &routed), route);
    /// ```
    #[must_use]
    pub fn routed(ep: Ranks, experts: usize, top_k: usize, tokens: &PerRank<usize>) -> PerRank<Routed> {
        Self::routed_in_chunks(ep, experts, top_k, 1, tokens)
    }

    /// Like [`routed`](Self::routed), for kernels with chunks. The kernel that keeps the route and the kernels that take it have the same
    /// number `chunks`: the `N` of `chunks_at_most(N)` or, if the build has none, of `route.chunks::<N>()`. For 0, the result is
    /// that for 1.
    ///
    /// ```
    /// use hpmoe_kernels::{PerRank, Rank, Ranks, Route, Tensor};
    ///
    /// let (ep, ids) = (Ranks::new(1), PerRank::from_vec(vec![Tensor::<i32, 2>::from_slice(&[0, 3, -1, 3])]));
    /// let mut routed = PerRank::routed_in_chunks(ep, 4, 2, 8, &ids.map(Tensor::row_count));
    /// Route::of::<4>(ep, &ids).keep(&mut routed);
    /// assert_eq!(routed[Rank::new(0)].rows_from(Rank::new(0)), Some(vec![1, 0, 0, 2]));
    /// ```
    #[must_use]
    pub fn routed_in_chunks(
        ep: Ranks,
        experts: usize,
        top_k: usize,
        chunks: usize,
        tokens: &PerRank<usize>,
    ) -> PerRank<Routed> {
        let words = |rank: Rank| KeptWords::new(ep.count(), experts, top_k, chunks.max(1), tokens[rank]).end;
        PerRank::from_fn(ep, |rank| Routed::with_words(words(rank)))
    }
}

impl Route {
    /// Keeps the route for later launches, by the statement `route.keep(routed);` of the taskflow that makes it.
    ///
    /// # Panics
    ///
    /// If `routed` was made for other numbers of tokens, ids per token, experts or ranks, or if this is the route of a later
    /// chunk. Also if some rank of the group runs in another process.
    pub fn keep(&self, routed: &mut PerRank<Routed>) {
        for rank in self.ranks() {
            assert_eq!(self.first_token(rank), 0, "a route of some of the tokens can't be kept");
            let cells = &routed[rank].cells;
            let (ranks, experts, top_k, tokens) = self.kept_sizes(rank);
            let Some(chunks) = KeptWords::chunks_of(ranks, experts, top_k, tokens, cells.len()) else {
                let (got, wanted) = (cells.len(), KeptWords::new(ranks, experts, top_k, 1, tokens).end);
                panic!(
                    "`routed` of {rank} has {got} words, but this route takes {wanted}: make it with PerRank::routed for the same tokens"
                );
            };
            let words = self.kept_words(rank, chunks);
            for (cell, word) in cells.iter().zip(words) {
                cell.set(word);
            }
        }
    }

    /// Numbers of ranks, of experts, of ids per token, and of tokens of a rank.
    fn kept_sizes(&self, rank: Rank) -> (usize, usize, usize, usize) {
        (self.ranks().count(), self.expert_count(), self.top_k(), self.tokens(rank))
    }

    /// The words that a rank keeps if rows are counted in `chunks` chunks, except the launch number.
    #[doc(hidden)]
    #[must_use]
    pub fn kept_words(&self, rank: Rank, chunks: usize) -> Vec<i32> {
        let (ranks, experts, top_k, tokens) = self.kept_sizes(rank);
        let words = KeptWords::new(ranks, experts, top_k, chunks, tokens);
        let mut words_of = vec![0; words.end];
        words_of[0] = KEPT;
        words_of[2..7].copy_from_slice(&[ranks, rank.id(), experts, top_k, tokens].map(number));
        words_of[7] = number(self.group_slots);
        words_of[KEPT_PLACEMENT] = self.places.word() as i32;
        words_of[KEPT_CHUNKS] = if chunks > 1 { number(chunks) } else { 0 };
        for source in self.ranks() {
            let counts = &mut words_of[words.counts + source.id() * words.pitch..][..chunks * experts];
            counts.fill(1);
            let slots_of_chunk = (chunk_tokens(self.tokens(source), chunks, None) * top_k).max(1);
            for (expert, slots) in self.slots_of_logical(source) {
                for slot in slots {
                    let chunk = usize::try_from(*slot).expect("a route lists no negative slot") / slots_of_chunk;
                    counts[chunk * experts + expert.id()] += 1;
                }
            }
        }
        let ids = &mut words_of[words.ids..words.order];
        ids[..tokens * top_k].fill(-1);
        for (expert, slots) in self.slots_of_logical(rank) {
            for slot in slots {
                ids[usize::try_from(*slot).expect("a route lists no negative slot")] = number(expert.id());
            }
        }
        let order = self.order(rank);
        words_of[words.order..][..order.len()].copy_from_slice(order);
        words_of
    }

    /// The route that an earlier launch has kept in `routed`.
    pub(super) fn kept(
        ep: Ranks,
        experts: usize,
        placement: Option<&Placement>,
        routed: &PerRank<Routed>,
    ) -> Result<Self, RouteError> {
        if routed.ranks() != ep {
            return Err(RouteError::Ranks { tensors: routed.ranks().count(), ranks: ep.count() });
        }
        if let Some(rank) = ep.only() {
            return Err(RouteError::Elsewhere { rank, ranks: ep.count() });
        }
        let digest = placement.map_or(0, |placement| placement.places().word());
        let mut top_k = 0;
        let mut ids = Vec::new();
        for rank in ep {
            let (of_rank, found) = routed[rank].ids(rank, ep.count(), experts, digest)?;
            top_k = of_rank;
            ids.push(found);
        }
        let first = routed[Rank::new(0)].launch();
        for rank in ep {
            if routed[rank].launch() != first {
                return Err(RouteError::KeptApart { rank });
            }
        }
        let ids = PerRank::from_vec(ids);
        match placement {
            None => Self::from_ids(ep, experts, top_k, &ids),
            Some(placement) => Self::from_placed_ids(placement, top_k, &ids),
        }
    }
}

fn number(count: usize) -> i32 {
    i32::try_from(count).expect("ranks, experts and slots are numbered by 32 bits")
}

#[cfg(test)]
mod tests;
