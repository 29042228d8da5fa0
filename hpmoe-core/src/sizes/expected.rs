//! The launches that sizes are chosen for.

use crate::schedule::MAX_RANKS;
use std::fmt;

/// The launches for which open tile sizes are chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Expected {
    /// Number of ranks of the group. `None`: the largest number up to eight that divides the experts.
    pub ranks: Option<u32>,
    /// Number of tokens per rank. `None`: the kernel's `TOKENS`.
    pub tokens: Option<usize>,
}

impl Expected {
    /// The ranks of the launches: the expected number or, by default, the largest number up to [`RANKS`] that divides the experts.
    pub(crate) fn ranks_for(self, experts: usize) -> u32 {
        let shared = |ranks: &u32| experts % *ranks as usize == 0;
        self.ranks.unwrap_or_else(|| (1..=RANKS).rev().find(shared).unwrap_or(1))
    }

    /// The expected launches with at most [`MOST_TOKENS`] tokens per rank, as estimates use them. `tokens` is the kernel's `TOKENS`.
    pub(crate) fn estimated(self, tokens: Option<usize>) -> Self {
        let many = self.tokens.or(tokens).is_some_and(|tokens| tokens > MOST_TOKENS);
        Self { tokens: if many { Some(MOST_TOKENS) } else { self.tokens }, ..self }
    }

    /// Checks that a launch with these numbers of ranks and tokens is possible for some kernel.
    pub(super) fn check(self) -> Result<(), String> {
        if self.ranks == Some(0) || self.tokens == Some(0) {
            return Err(format!(
                "the build expects {self}, but a launch has from 1 to {MAX_RANKS} ranks, each with 1 to `TOKENS` tokens"
            ));
        }
        Ok(())
    }
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.ranks {
            Some(ranks) => write!(f, "{ranks} ranks")?,
            None => write!(f, "at most {RANKS} ranks")?,
        }
        match self.tokens {
            Some(tokens) => write!(f, " with {tokens} tokens each"),
            None => f.write_str(" with `TOKENS` tokens each"),
        }
    }
}

/// The maximum number of tokens per rank in an estimate. More tokens only make more of the same tiles, and their replay would take minutes.
const MOST_TOKENS: usize = 1 << 16;

/// The default number of ranks for which sizes are chosen. With more ranks, each expert has more rows, and each rank has fewer experts.
const RANKS: u32 = 8;
