//! Which rank sends how many rows to which expert.

use hpmoe_codegen::random::Random;
use std::fmt;

/// Rows of each source rank for each expert of the group.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Routing {
    experts: u32,
    top_k: u32,
    rows: Vec<u32>,
    /// By source and expert: the token of each row, where they are known.
    tokens: Vec<Vec<Vec<u32>>>,
}

/// Rows that no tokens make.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RoutingError(String);

impl Routing {
    /// Rows by source and then expert of the group.
    ///
    /// # Errors
    ///
    /// When sources differ in their number of experts, when ranks don't share the experts evenly, or when the rows of a
    /// source are not those of whole tokens with `top_k` different experts each.
    pub fn new(rows: &[Vec<u32>], top_k: u32) -> Result<Self, RoutingError> {
        let no = |text: String| Err(RoutingError(text));
        let experts = rows.first().map_or(0, Vec::len);
        if experts == 0 || top_k == 0 || !experts.is_multiple_of(rows.len()) {
            return no(format!("{} ranks do not share {experts} experts evenly", rows.len()));
        }
        for (source, of) in rows.iter().enumerate() {
            let sum: u64 = of.iter().map(|&rows| u64::from(rows)).sum();
            if of.len() != experts {
                return no(format!("rank {source} has rows for {} experts, rank 0 for {experts}", of.len()));
            }
            if !sum.is_multiple_of(u64::from(top_k)) {
                return no(format!("the {sum} rows of rank {source} are no multiple of {top_k} experts a token"));
            }
            let tokens = sum / u64::from(top_k);
            if let Some(expert) = of.iter().position(|&rows| u64::from(rows) > tokens) {
                return no(format!("rank {source} sends {} rows of {tokens} tokens to expert {expert}", of[expert]));
            }
        }
        Ok(Self { experts: experts as u32, top_k, rows: rows.concat(), tokens: Vec::new() })
    }

    /// The experts of every token: by source, then token.
    ///
    /// # Errors
    ///
    /// When tokens differ in how many experts they have, when a token has one twice or one that is none, and as for
    /// [`Self::new`].
    pub fn of_tokens(ids: &[Vec<Vec<u32>>], experts: u32) -> Result<Self, RoutingError> {
        let top_k = ids.iter().flatten().next().map_or(0, Vec::len);
        let mut rows = vec![vec![0; experts as usize]; ids.len()];
        let mut tokens = vec![vec![Vec::new(); experts as usize]; ids.len()];
        for (source, of_source) in ids.iter().enumerate() {
            for (token, of_token) in of_source.iter().enumerate() {
                let no = |what: String| Err(RoutingError(format!("token {token} of rank {source} {what}")));
                if of_token.len() != top_k {
                    return no(format!("has {} experts, the first token {top_k}", of_token.len()));
                }
                for &expert in of_token {
                    if expert >= experts {
                        return no(format!("goes to expert {expert}; the last is {}", experts.saturating_sub(1)));
                    }
                    let own: &mut Vec<u32> = &mut tokens[source][expert as usize];
                    if own.last() == Some(&(token as u32)) {
                        return no(format!("goes to expert {expert} twice"));
                    }
                    own.push(token as u32);
                    rows[source][expert as usize] += 1;
                }
            }
        }
        Ok(Self { tokens, ..Self::new(&rows, top_k as u32)? })
    }

    /// Every expert gets the same, as far as numbers allow; neighbouring tokens go to different experts.
    #[must_use]
    pub fn balanced(ranks: u32, experts: u32, top_k: u32, tokens: u32) -> Self {
        let top_k = top_k.min(experts);
        let mut rows = vec![0; (ranks * experts) as usize];
        for source in 0..ranks {
            let all = u64::from(tokens) * u64::from(top_k);
            let each = (all / u64::from(experts)) as u32;
            let more = (all % u64::from(experts)) as u32;
            for expert in 0..experts {
                // What is over goes to experts that other sources don't begin with.
                let place = (expert + experts - source * experts / ranks) % experts;
                rows[(source * experts + expert) as usize] = each + u32::from(place < more);
            }
        }
        Self { experts, top_k, rows, tokens: Vec::new() }
    }

    /// Each token draws `top_k` different experts; the expert in place p of an order drawn from the seed has the weight
    /// p^-exponent. With the exponent 0 all are alike.
    #[must_use]
    pub fn zipf(ranks: u32, experts: u32, top_k: u32, tokens: u32, exponent: f64, seed: u64) -> Self {
        let top_k = top_k.min(experts);
        let mut random = Random(seed);
        let mut order: Vec<u32> = (0..experts).collect();
        random.shuffle(&mut order);
        // Whole numbers, so that the last bit of a power decides nothing.
        let mut ends = Vec::with_capacity(order.len());
        let mut sum = 0u64;
        for place in 1..=experts {
            sum += (f64::from(place).powf(-exponent) * f64::from(1u32 << 30)).round().max(1.0) as u64;
            ends.push(sum);
        }
        let mut rows = vec![0; (ranks * experts) as usize];
        let mut drawn = vec![u32::MAX; experts as usize];
        for source in 0..ranks {
            for token in 0..tokens {
                let stamp = source * tokens + token;
                let mut left = top_k;
                while left > 0 {
                    let at = random.below(sum);
                    let expert = order[ends.partition_point(|&end| end <= at)];
                    if std::mem::replace(&mut drawn[expert as usize], stamp) != stamp {
                        rows[(source * experts + expert) as usize] += 1;
                        left -= 1;
                    }
                }
            }
        }
        Self { experts, top_k, rows, tokens: Vec::new() }
    }

    /// Ranks of the group.
    #[must_use]
    pub fn ranks(&self) -> u32 {
        self.rows.len() as u32 / self.experts
    }

    /// Experts of the group.
    #[must_use]
    pub const fn experts(&self) -> u32 {
        self.experts
    }

    /// Experts of one rank.
    #[must_use]
    pub fn local_experts(&self) -> u32 {
        self.experts / self.ranks()
    }

    /// Experts of a token.
    #[must_use]
    pub const fn top_k(&self) -> u32 {
        self.top_k
    }

    /// Tokens of a rank.
    #[must_use]
    pub fn tokens(&self, source: u32) -> u32 {
        self.of(source).iter().sum::<u32>() / self.top_k
    }

    /// Rows of a source for an expert of the group.
    #[must_use]
    pub fn rows(&self, source: u32, expert: u32) -> u32 {
        self.rows[(source * self.experts + expert) as usize]
    }

    /// Rows that an expert of the group gets.
    #[must_use]
    pub fn expert_rows(&self, expert: u32) -> u32 {
        (0..self.ranks()).map(|source| self.rows(source, expert)).sum()
    }

    /// Rows that a rank gets.
    #[must_use]
    pub fn received(&self, rank: u32) -> u32 {
        let local = self.local_experts();
        (rank * local..(rank + 1) * local).map(|expert| self.expert_rows(expert)).sum()
    }

    /// The token of each row of a source, by expert, in ascending order; every token has `top_k` rows. Counts alone don't
    /// say which tokens they are: every expert's are then spread over all tokens of the source, and which experts a token has
    /// together is drawn, for each source anew.
    #[must_use]
    pub fn tokens_of_rows(&self, source: u32) -> Vec<Vec<u32>> {
        if let Some(known) = self.tokens.get(source as usize) {
            return known.clone();
        }
        let counts = self.of(source);
        let all: u64 = counts.iter().map(|&rows| u64::from(rows)).sum();
        // Rows by where they would like to be, in 1/(2 rows) of all tokens.
        let wish = |expert: usize, row: u32| (u64::from(2 * row + 1) << 32) / u64::from(2 * counts[expert]);
        // Experts with as many rows wish for the same places. Where all have, they take turns that are drawn anew for each few
        // whole tokens; else always the same turns, so that rows of an expert keep their distance.
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

    /// By expert of the group: the tokens of a source for which the expert is the first of its rank's that they go to. Those are
    /// sent when each token is sent once to every rank that it goes to.
    #[must_use]
    pub fn rows_once(&self, source: u32) -> Vec<u32> {
        let local = self.local_experts() as usize;
        let tokens = self.tokens_of_rows(source);
        let mut sent = vec![0; self.tokens(source) as usize];
        let of = |(expert, tokens): (usize, &Vec<u32>)| {
            let owner = expert / local + 1;
            let first = |token: &&u32| std::mem::replace(&mut sent[**token as usize], owner) != owner;
            tokens.iter().filter(first).count() as u32
        };
        tokens.iter().enumerate().map(of).collect()
    }

    fn of(&self, source: u32) -> &[u32] {
        &self.rows[(source * self.experts) as usize..][..self.experts as usize]
    }
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

impl fmt::Display for RoutingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for RoutingError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn balanced_is_even_where_numbers_allow() {
        let routing = Routing::balanced(8, 64, 8, 4096);
        assert!((0..8).all(|source| (0..64).all(|expert| routing.rows(source, expert) == 512)));
        assert_eq!((routing.tokens(3), routing.received(5)), (4096, 32_768));
        let odd = Routing::balanced(4, 8, 3, 5);
        assert!((0..4).all(|rank| odd.tokens(rank) == 5));
        let most = (0..8).map(|expert| odd.expert_rows(expert)).max().unwrap();
        assert!(most <= 8, "{most} of 60 rows for one of 8 experts");
    }

    #[test]
    fn zipf_is_the_same_for_the_same_seed_and_other_for_another() {
        let of = |seed| Routing::zipf(4, 32, 4, 500, 1.2, seed);
        assert_eq!(of(1), of(1));
        assert_ne!(of(1), of(2));
        assert!((0..4).all(|rank| of(1).tokens(rank) == 500));
        let hottest = (0..32).map(|expert| of(1).expert_rows(expert)).max().unwrap();
        assert!(hottest > 1500, "{hottest}");
    }

    #[test]
    fn rows_are_those_of_whole_tokens() {
        let (uneven, even) = (Routing::zipf(2, 16, 3, 100, 1.0, 7), Routing::balanced(2, 16, 3, 96));
        for (routing, source) in [(&uneven, 0), (&uneven, 1), (&even, 0), (&even, 1)] {
            let tokens = routing.tokens_of_rows(source);
            let mut rows = vec![0; routing.tokens(source) as usize];
            for (expert, tokens) in tokens.iter().enumerate() {
                assert_eq!(tokens.len() as u32, routing.rows(source, expert as u32));
                let twice = !tokens.is_sorted_by(|a, b| a < b);
                assert!(tokens.is_sorted() && !(routing == &even && twice), "a token has an expert once");
                tokens.iter().for_each(|&token| rows[token as usize] += 1);
            }
            assert!(rows.iter().all(|&rows| rows == 3));
        }
    }

    #[test]
    fn a_token_is_sent_once_to_each_rank_of_its_experts() {
        let ids = [vec![vec![0, 1], vec![1, 3], vec![3, 2]], vec![vec![2, 0]]];
        let known = Routing::of_tokens(&ids, 4).unwrap();
        assert_eq!((known.rows_once(0), known.rows_once(1)), (vec![1, 1, 1, 1], vec![1, 0, 1, 0]));
        // Evenly routed, as many rows as when experts are drawn evenly: 5.43 for a token.
        let even = Routing::balanced(8, 64, 8, 4096);
        let rows = (0..8).map(|source| even.rows_once(source).iter().sum::<u32>()).sum::<u32>();
        let each = f64::from(rows) / 8.0 / 4096.0;
        assert!((5.38..5.48).contains(&each), "{each}");
    }

    #[test]
    fn tokens_that_are_known_are_kept() {
        let ids = [vec![vec![0, 3], vec![1, 0]], vec![vec![2, 3], vec![3, 0]]];
        let routing = Routing::of_tokens(&ids, 4).unwrap();
        assert_eq!((routing.ranks(), routing.top_k(), routing.tokens(1)), (2, 2, 2));
        assert_eq!((routing.expert_rows(3), routing.rows(0, 0)), (3, 2));
        assert_eq!(routing.tokens_of_rows(0), [vec![0, 1], vec![1], vec![], vec![0]]);
        let words = |ids: Vec<Vec<u32>>| Routing::of_tokens(&[ids], 4).unwrap_err().to_string();
        assert_eq!(words(vec![vec![0, 4]]), "token 0 of rank 0 goes to expert 4; the last is 3");
        assert_eq!(words(vec![vec![0, 1], vec![2, 2]]), "token 1 of rank 0 goes to expert 2 twice");
        assert_eq!(words(vec![vec![0, 1], vec![2]]), "token 1 of rank 0 has 1 experts, the first token 2");
    }

    #[test]
    fn what_no_tokens_make_is_refused() {
        let words = |rows: &[Vec<u32>], top_k| Routing::new(rows, top_k).unwrap_err().to_string();
        assert!(words(&[vec![1, 2, 3], vec![1, 2, 3]], 1).contains("share 3 experts"));
        assert!(words(&[vec![1, 2], vec![1, 1, 1]], 1).contains("rank 1"));
        assert!(words(&[vec![1, 2]], 2).contains("no multiple"));
        assert!(words(&[vec![3, 1]], 2).contains("3 rows of 2 tokens"));
        assert!(Routing::new(&[vec![1, 2, 1]], 2).is_ok());
    }
}
