//! The token of each row.

use super::{Routing, RoutingError};
use hpmoe_core::divisor::gcd;
use hpmoe_core::random::Random;

impl Routing {
    /// A routing in which token `token` of rank `source` goes to the experts `ids[source][token]`. `experts` is the number of experts of
    /// the group.
    ///
    /// # Errors
    ///
    /// If tokens differ in their number of experts, if a token names an expert twice or one that the group does not have, or
    /// in the cases of [`Self::new`].
    pub fn from_top_k(ids: &[Vec<Vec<u32>>], experts: u32) -> Result<Self, RoutingError> {
        let top_k = ids.iter().flatten().next().map_or(0, Vec::len);
        let mut rows = vec![vec![0; experts as usize]; ids.len()];
        let mut tokens = vec![vec![Vec::new(); experts as usize]; ids.len()];
        for (rank, tokens_of_rank) in ids.iter().enumerate() {
            for (token, chosen) in tokens_of_rank.iter().enumerate() {
                if chosen.len() != top_k {
                    return Err(RoutingError::TopK { rank, token, found: chosen.len(), expected: top_k });
                }
                for &expert in chosen {
                    if expert >= experts {
                        return Err(RoutingError::UnknownExpert { rank, token, expert, experts });
                    }
                    let tokens_of_expert: &mut Vec<u32> = &mut tokens[rank][expert as usize];
                    if tokens_of_expert.last() == Some(&(token as u32)) {
                        return Err(RoutingError::ExpertTwice { rank, token, expert });
                    }
                    tokens_of_expert.push(token as u32);
                    rows[rank][expert as usize] += 1;
                }
            }
        }
        Ok(Self { tokens, ..Self::new(&rows, top_k as u32)? })
    }

    /// For each expert of the group, the tokens whose rows a source sends to it, in ascending order. Every token has `top_k` rows.
    ///
    /// Counts alone don't say which tokens the rows belong to. If the routing has only counts, the rows of each expert are
    /// spread over all tokens of the source, and the combinations of experts are drawn at random for each source.
    #[must_use]
    pub fn tokens_of_rows(&self, source: u32) -> Vec<Vec<u32>> {
        if let Some(known) = self.tokens.get(source as usize) {
            return known.clone();
        }
        let counts = self.counts(source);
        let all: u64 = counts.iter().map(|&rows| u64::from(rows)).sum();
        // The place that a row would have without rows of other experts, in 1/(2 rows) of all tokens.
        let wish = |expert: usize, row: u32| (u64::from(2 * row + 1) << 32) / u64::from(2 * counts[expert]);
        // Experts with the same number of rows have the same preferred places. If all experts have the same number of rows,
        // they take turns that are drawn again for every few whole tokens; otherwise the turns stay the same, so that the
        // rows of an expert keep their distance.
        let most = counts.iter().max().copied().unwrap_or(0);
        let even = counts.iter().all(|&rows| rows == most);
        let drawn = if even { self.top_k / gcd(self.experts, self.top_k) } else { most.max(1) };
        let mut random = Random(source.into());
        let mut turns: Vec<usize> = (0..counts.len()).collect();
        let mut order: Vec<(u64, u32, usize)> = Vec::with_capacity(all as usize);
        for from in (0..most).step_by(drawn as usize) {
            random.shuffle(&mut turns);
            for (turn, &expert) in turns.iter().enumerate() {
                let rows = from..counts[expert].min(from + drawn);
                order.extend(rows.map(|row| (wish(expert, row), turn as u32, expert)));
            }
        }
        order.sort_unstable();
        let mut tokens: Vec<Vec<u32>> = counts.iter().map(|&rows| Vec::with_capacity(rows as usize)).collect();
        for (place, (.., expert)) in order.into_iter().enumerate() {
            tokens[expert].push(place as u32 / self.top_k);
        }
        tokens
    }

    /// Number of once-sent rows of a source, for each expert of the group. A token is sent once to every rank that it goes
    /// to, and counts for the lowest-numbered of its experts there.
    #[must_use]
    pub fn once_sent_rows(&self, source: u32) -> Vec<u32> {
        let local = self.local_experts() as usize;
        let tokens = self.tokens_of_rows(source);
        // The last rank that each token was sent to, plus one.
        let mut sent = vec![0; self.tokens(source) as usize];
        let count_first = |(expert, tokens): (usize, &Vec<u32>)| {
            let owner = expert / local + 1;
            let is_first = |token: &&u32| std::mem::replace(&mut sent[**token as usize], owner) != owner;
            tokens.iter().filter(is_first).count() as u32
        };
        tokens.iter().enumerate().map(count_first).collect()
    }
}
