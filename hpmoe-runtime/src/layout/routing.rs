//! A route as one rank's kernel reads it.

use hpmoe_kernels::{Expert, Rank, Route};

use crate::abi::{HpmoeExpert, HpmoePair};

/// Rows of each of the rank's experts.
pub(crate) fn experts(route: &Route, rank: Rank) -> Vec<HpmoeExpert> {
    let expert = |e| HpmoeExpert { first: word(route.pair(Rank::new(0), e).base), rows: word(route.expert_rows(e)) };
    route.experts_of(rank).map(expert).collect()
}

/// What the rank sends, by owner and its expert.
pub(crate) fn sends(route: &Route, rank: Rank) -> Vec<HpmoePair> {
    route.experts().map(|e| HpmoePair { order: word(route.pair(rank, e).order), ..pair(route, rank, e) }).collect()
}

/// What the rank receives, by source and own expert.
pub(crate) fn arrivals(route: &Route, rank: Rank) -> Vec<HpmoePair> {
    let from = |source| route.experts_of(rank).map(move |e| pair(route, source, e));
    route.ranks().into_iter().flat_map(from).collect()
}

fn pair(route: &Route, source: Rank, expert: Expert) -> HpmoePair {
    let pair = route.pair(source, expert);
    HpmoePair { rows: word(pair.rows), at: word(pair.at), base: word(pair.base), order: 0 }
}

/// A row number as kernels read it.
fn word(rows: usize) -> i32 {
    i32::try_from(rows).expect("a route numbers rows by i32")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::route;

    #[test]
    fn pairs_lie_by_peer_and_expert() {
        // Rank 0 sends to experts 0, 1 | 1, 3; rank 1 to 2, 1.
        let route = route(&[&[0, 1, 1, 3], &[2, 1]], 4);
        let numbers = |pairs: Vec<HpmoePair>| -> Vec<[i32; 4]> {
            pairs.iter().map(|p| [p.rows, p.at, p.base, p.order]).collect()
        };
        let (zero, one) = (Rank::new(0), Rank::new(1));
        assert_eq!(numbers(sends(&route, zero)), [[1, 0, 0, 0], [2, 0, 1, 1], [0, 0, 0, 3], [1, 0, 1, 3]]);
        assert_eq!(numbers(sends(&route, one)), [[0, 1, 0, 0], [1, 2, 1, 0], [1, 0, 0, 1], [0, 1, 1, 2]]);
        assert_eq!(numbers(arrivals(&route, zero)), [[1, 0, 0, 0], [2, 0, 1, 0], [0, 1, 0, 0], [1, 2, 1, 0]]);
        let rows: Vec<_> = experts(&route, zero).iter().map(|e| (e.first, e.rows)).collect();
        assert_eq!(rows, [(0, 1), (1, 3)]);
    }
}
