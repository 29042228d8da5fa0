//! Which token goes where.

use super::Random;
use crate::graph::Sizes;

/// Tokens of each rank, and the rows that they become.
#[derive(Clone, Debug)]
pub(super) struct Routing {
    pub(super) ranks: usize,
    /// Experts of one rank.
    pub(super) local: usize,
    pub(super) top_k: usize,
    pub(super) tokens: Vec<usize>,
    /// By source, then expert of the group: slots (token * top_k + k), ascending.
    pub(super) slots: Vec<Vec<Vec<usize>>>,
}

impl Routing {
    /// Token counts from none to all; experts evenly or to favourites, the same or others on each rank.
    pub(super) fn random(sizes: &Sizes, ranks: usize, random: &mut Random) -> Self {
        let favourites = 1 + random.below(sizes.experts);
        let empty_ranks = random.below(2) == 0;
        let mut routing = Self {
            ranks,
            local: sizes.experts / ranks,
            top_k: sizes.top_k,
            tokens: Vec::new(),
            slots: vec![vec![Vec::new(); sizes.experts]; ranks],
        };
        for source in 0..ranks {
            let tokens = match random.below(3) {
                0 if empty_ranks => 0,
                1 => sizes.tokens,
                _ => random.below(sizes.tokens + 1),
            };
            routing.tokens.push(tokens);
            for token in 0..tokens {
                let mut experts: Vec<usize> = (0..sizes.experts).collect();
                random.shuffle(&mut experts);
                // Favourites first, as long as there are enough.
                experts.sort_by_key(|&expert| expert >= favourites);
                for (k, &expert) in experts[..sizes.top_k].iter().enumerate() {
                    routing.slots[source][expert].push(token * sizes.top_k + k);
                }
            }
        }
        routing
    }

    /// Rows received for an expert of the group.
    pub(super) fn expert_rows(&self, expert: usize) -> usize {
        (0..self.ranks).map(|source| self.slots[source][expert].len()).sum()
    }

    /// The first of them among all rows of its owner.
    pub(super) fn base(&self, expert: usize) -> usize {
        let owner = expert / self.local;
        (owner * self.local..expert).map(|before| self.expert_rows(before)).sum()
    }

    /// The first row from a source among the rows of an expert.
    pub(super) fn at(&self, source: usize, expert: usize) -> usize {
        (0..source).map(|before| self.slots[before][expert].len()).sum()
    }

    /// Rows that a rank receives.
    pub(super) fn received(&self, rank: usize) -> usize {
        (rank * self.local..(rank + 1) * self.local).map(|expert| self.expert_rows(expert)).sum()
    }
}
