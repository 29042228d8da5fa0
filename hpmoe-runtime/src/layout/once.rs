//! The tables of a rank for once-sent rows, which follow those for all rows.

use hpmoe_kernels::{Rank, Route};

use super::routing::{expert, pair};
use crate::abi::{HpmoeExpert, HpmoePair};

/// The once-sent rows of each local expert: first row and number of rows.
pub(crate) fn experts(route: &Route, rank: Rank) -> Vec<HpmoeExpert> {
    let rows_once = |e| expert(route.pair_once(Rank::new(0), e), 0, route.expert_rows_once(e));
    route.experts_of(rank).map(rows_once).collect()
}

/// The pairs of once-sent rows that the rank sends, by owner and the owner's expert. In the list of slots, their slots
/// follow all other slots.
pub(crate) fn sends(route: &Route, rank: Rank) -> Vec<HpmoePair> {
    let all_slots = route.order(rank).len();
    route.experts().map(|e| pair(route.pair_once(rank, e), 0, all_slots)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::route;

    #[test]
    fn pairs_lie_by_peer_and_expert() {
        // Rank 0's tokens go to experts 0, 1 | 1, 3, and rank 1's to 2, 1. Sent once, they are stored under 0, 1 and 3,
        // and under 1 and 2.
        let route = route(&[&[0, 1, 1, 3], &[2, 1]], 4);
        let (zero, one) = (Rank::new(0), Rank::new(1));
        let numbers =
            |rank| -> Vec<[i32; 4]> { sends(&route, rank).iter().map(|p| [p.rows, p.at, p.base, p.order]).collect() };
        assert_eq!(numbers(zero), [[1, 0, 0, 4], [1, 0, 1, 5], [0, 0, 0, 6], [1, 0, 1, 6]]);
        assert_eq!(numbers(one), [[0, 1, 0, 2], [1, 1, 1, 2], [1, 0, 0, 3], [0, 1, 1, 4]]);
        let rows: Vec<_> = experts(&route, zero).iter().map(|e| (e.first, e.rows)).collect();
        assert_eq!(rows, [(0, 1), (1, 2)]);
    }
}
