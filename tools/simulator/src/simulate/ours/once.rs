//! The positions of once-sent rows.

use crate::simulate::Routing;

/// The once-sent rows of all ranks. A token is sent for the lowest-numbered of a rank's experts that it goes to.
#[derive(Clone, Debug)]
pub(super) struct OnceRows {
    /// For each expert of the group, the position of each source's first once-sent row among those of the expert, and then the number of
    /// all.
    at: Vec<u32>,
    /// For each received row of each expert of the group, its token's once-sent row: the local expert under which it is sent, and its
    /// position there.
    rows: Vec<Vec<(u32, u32)>>,
}

impl OnceRows {
    pub(super) fn new(routing: &Routing) -> Self {
        let (ranks, local) = (routing.ranks(), routing.local_experts());
        let counts: Vec<Vec<u32>> = (0..ranks).map(|source| routing.once_sent_rows(source)).collect();
        let at = sums(routing.experts(), ranks, |source, expert| counts[source as usize][expert as usize]);
        let mut rows = vec![Vec::new(); routing.experts() as usize];
        for source in 0..ranks {
            let tokens = routing.tokens_of_rows(source);
            let mut places = vec![(0, 0); routing.tokens(source) as usize];
            // The last rank on which the token already has a row, plus one.
            let mut known = vec![0; places.len()];
            for (expert, tokens) in (0..).zip(&tokens) {
                let mut next = at[(expert * (ranks + 1) + source) as usize];
                for &token in tokens {
                    let owner = expert / local + 1;
                    if std::mem::replace(&mut known[token as usize], owner) != owner {
                        places[token as usize] = (expert % local, next);
                        next += 1;
                    }
                    rows[expert as usize].push(places[token as usize]);
                }
            }
        }
        Self { at, rows }
    }

    /// The range of a source's once-sent rows among those of an expert of the group: first row and end.
    pub(super) fn pair(&self, ranks: u32, source: u32, expert: u32) -> (u32, u32) {
        let place = (expert * (ranks + 1) + source) as usize;
        (self.at[place], self.at[place + 1])
    }

    /// For `count` received rows of an expert from row `first` on, the once-sent rows of their tokens.
    pub(super) fn rows(&self, expert: u32, first: u32, count: u32) -> &[(u32, u32)] {
        &self.rows[expert as usize][first as usize..][..count as usize]
    }
}

/// For each expert of the group, the number of its rows before those of each source, and then the number of all its rows.
pub(super) fn sums(experts: u32, ranks: u32, rows: impl Fn(u32, u32) -> u32) -> Vec<u32> {
    let mut at = Vec::with_capacity((experts * (ranks + 1)) as usize);
    for expert in 0..experts {
        let mut sum = 0;
        at.push(0);
        at.extend((0..ranks).map(|source| {
            sum += rows(source, expert);
            sum
        }));
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_found_where_their_token_was_sent() {
        // Two ranks with two experts each.
        let ids = [vec![vec![0, 1], vec![1, 3], vec![3, 2]], vec![vec![1, 0]]];
        let once = OnceRows::new(&Routing::from_top_k(&ids, 4).unwrap());
        let pairs: Vec<_> = (0..4).map(|expert| [once.pair(2, 0, expert), once.pair(2, 1, expert)]).collect();
        assert_eq!(pairs, [[(0, 1), (1, 2)], [(0, 1), (1, 1)], [(0, 1), (1, 1)], [(0, 1), (1, 1)]]);
        // Tokens 0 and 1 of rank 0 and token 0 of rank 1 go to expert 1. The first and the last are already there for expert 0.
        assert_eq!(once.rows(1, 0, 3), [(0, 0), (1, 0), (0, 1)]);
        assert_eq!((once.rows(2, 0, 1), once.rows(3, 0, 2)), (&[(0, 0)][..], &[(1, 0), (0, 0)][..]));
    }
}
