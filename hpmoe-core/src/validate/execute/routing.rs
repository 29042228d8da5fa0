//! The experts of tokens in a random routing.

use super::Random;
use crate::graph::{CHUNK_BUFFERS, Sizes};

/// The tokens of each rank, and their rows.
#[derive(Clone, Debug)]
pub(in crate::validate) struct RoutedSlots {
    pub(super) ranks: usize,
    /// Number of expert chunks of one rank.
    pub(super) local: usize,
    pub(super) chunks: usize,
    pub(super) top_k: usize,
    /// Number of tokens of each rank, in all chunks.
    tokens: Vec<usize>,
    /// By source, then by owner, chunk and the owner's expert: the slots (token * top_k + k), ascending. Tokens are counted from the first
    /// token of the chunk.
    pub(super) slots: Vec<Vec<Vec<usize>>>,
}

/// Distance in rows from the first to the second half of a tensor; chunks alternate between the halves.
pub(super) const HALF: usize = 1 << 24;

impl RoutedSlots {
    /// A random routing. Ranks have any number of tokens. Experts are chosen evenly or with preferences, which may differ between ranks.
    pub(in crate::validate) fn random(sizes: &Sizes, ranks: usize, random: &mut Random) -> Self {
        let physical = sizes.physical_experts(ranks);
        let favourites = 1 + random.index(physical);
        let empty_ranks = random.index(2) == 0;
        let mut routing = Self::empty(sizes, ranks);
        for _ in 0..ranks {
            let tokens = match random.index(3) {
                0 if empty_ranks => 0,
                1 => sizes.tokens,
                _ => random.index(sizes.tokens + 1),
            };
            // The remaining tokens are padding: all of their slots are empty.
            let padding = if random.index(3) == 0 { random.index(tokens + 1) } else { tokens };
            routing.push(sizes, tokens, |token| {
                let mut experts: Vec<usize> = (0..physical).collect();
                random.shuffle(&mut experts);
                // Favourites come first, as long as there are enough.
                experts.sort_by_key(|&expert| expert >= favourites);
                let full = match random.index(4) {
                    _ if token >= padding => 0,
                    0 => random.index(sizes.top_k + 1),
                    _ => sizes.top_k,
                };
                experts.truncate(full);
                experts
            });
        }
        routing
    }

    /// A routing of `tokens` tokens per rank; `experts` returns the experts of a rank's token.
    pub(in crate::validate) fn routed(
        sizes: &Sizes,
        tokens: &[usize],
        experts: impl Fn(usize, usize) -> Vec<usize>,
    ) -> Self {
        let mut routing = Self::empty(sizes, tokens.len());
        for (source, &tokens) in tokens.iter().enumerate() {
            routing.push(sizes, tokens, |token| experts(source, token));
        }
        routing
    }

    fn empty(sizes: &Sizes, ranks: usize) -> Self {
        Self {
            ranks,
            local: sizes.expert_chunks(ranks),
            chunks: sizes.chunks,
            top_k: sizes.top_k,
            tokens: Vec::new(),
            slots: vec![vec![Vec::new(); sizes.expert_chunks(ranks) * ranks]; ranks],
        }
    }

    /// Adds the tokens of the next rank.
    fn push(&mut self, sizes: &Sizes, tokens: usize, mut experts: impl FnMut(usize) -> Vec<usize>) {
        let source = self.tokens.len();
        self.tokens.push(tokens);
        let own = sizes.local_experts(self.ranks);
        for token in 0..tokens {
            let chunk = token / tokens.div_ceil(sizes.chunks);
            let experts = experts(token);
            let token = token - self.first_token(source, chunk);
            for (k, expert) in experts.into_iter().enumerate() {
                let group = expert / own * self.local + chunk * own + expert % own;
                self.slots[source][group].push(token * sizes.top_k + k);
            }
        }
    }

    /// Number of rows received for an expert of the group.
    pub(super) fn expert_rows(&self, expert: usize) -> usize {
        (0..self.ranks).map(|source| self.slots[source][expert].len()).sum()
    }

    /// The first token of a chunk.
    pub(super) fn first_token(&self, rank: usize, chunk: usize) -> usize {
        self.tokens[rank].min(chunk * self.tokens[rank].div_ceil(self.chunks))
    }

    /// Number of tokens of a rank in a chunk.
    pub(super) fn tokens(&self, rank: usize, chunk: usize) -> usize {
        self.first_token(rank, chunk + 1) - self.first_token(rank, chunk)
    }

    /// Number of non-empty slots of consecutive tokens of a rank in a chunk.
    pub(super) fn full_slots(&self, rank: usize, chunk: usize, tokens: std::ops::Range<usize>) -> usize {
        let groups = self.slots[rank].iter().enumerate().filter(|(group, _)| self.chunk(*group) == chunk);
        groups.map(|(_, slots)| slots.iter().filter(|slot| tokens.contains(&(*slot / self.top_k))).count()).sum()
    }

    /// The chunk that an expert chunk belongs to.
    pub(super) fn chunk(&self, expert: usize) -> usize {
        expert % self.local / (self.local / self.chunks)
    }

    /// The first row of an expert chunk among the rows that its owner stores.
    pub(super) fn base(&self, expert: usize) -> usize {
        let own = self.local / self.chunks;
        let rows: usize = (expert / own * own..expert).map(|before| self.expert_rows(before)).sum();
        self.chunk(expert) % CHUNK_BUFFERS * HALF + rows
    }

    /// The first row from a source, among the rows of an expert.
    pub(super) fn at(&self, source: usize, expert: usize) -> usize {
        (0..source).map(|before| self.slots[before][expert].len()).sum()
    }

    /// The slots that a source sends once, for an expert of the group: their tokens go to no earlier expert of the same
    /// rank.
    pub(super) fn once(&self, source: usize, expert: usize) -> Vec<usize> {
        let first = expert / self.local * self.local;
        let goes =
            |token: usize, expert: usize| self.slots[source][expert].iter().any(|slot| slot / self.top_k == token);
        let new = |slot: &&usize| !(first..expert).any(|before| goes(**slot / self.top_k, before));
        self.slots[source][expert].iter().filter(new).copied().collect()
    }

    /// Number of once-sent rows of an expert of the group.
    pub(super) fn expert_rows_once(&self, expert: usize) -> usize {
        (0..self.ranks).map(|source| self.once(source, expert).len()).sum()
    }

    /// Source and token of each once-sent row of a rank, in order.
    pub(super) fn tokens_once(&self, rank: usize) -> Vec<(usize, usize)> {
        let experts = rank * self.local..(rank + 1) * self.local;
        let pairs = experts.flat_map(|expert| (0..self.ranks).map(move |source| (source, expert)));
        let tokens_of_pair = |(source, expert)| {
            self.once(source, expert).into_iter().map(move |slot| (source, slot / self.top_k)).collect::<Vec<_>>()
        };
        pairs.flat_map(tokens_of_pair).collect()
    }

    /// Source and token of each row of an expert of the group.
    pub(super) fn tokens_of_expert(&self, expert: usize) -> Vec<(usize, usize)> {
        let tokens_from =
            |source: usize| self.slots[source][expert].iter().map(move |slot| (source, slot / self.top_k));
        (0..self.ranks).flat_map(tokens_from).collect()
    }

    /// Number of rows that a rank receives in a chunk, expert by expert.
    pub(super) fn experts_of(&self, rank: usize, chunk: usize) -> impl Iterator<Item = usize> {
        let own = self.local / self.chunks;
        let first = rank * self.local + chunk * own;
        (first..first + own).map(|expert| self.expert_rows(expert))
    }
}
