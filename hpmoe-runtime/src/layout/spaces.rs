//! How many items each group of an iteration space has.

use hpmoe_kernels::route::Pair;
use hpmoe_kernels::{Expert, Rank, Route};

use crate::abi::{HPMOE_ARRIVALS, HPMOE_BLOCKS, HPMOE_EXPERTS, HPMOE_ROW_TILES, HPMOE_SENDS};
use crate::tables::SpaceTable;

/// The extents of a space on one rank.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Extents {
    /// Items before each group, then all items.
    pub(crate) first_items: Vec<i32>,
    /// For row tiles: of each pair (owner, its expert), items before that group at that owner. Otherwise empty.
    pub(crate) peer_items: Vec<i32>,
    /// Items before each group, when pairs are counted expert by expert.
    pub(crate) counted: Vec<i32>,
}

/// The extents of a space on `rank`.
pub(crate) fn extents(space: &SpaceTable, route: &Route, rank: Rank) -> Extents {
    let height = space.height as usize;
    let row_tiles = |e: Expert| route.expert_rows(e).div_ceil(height);
    let pieces = |source, e| pieces(route.pair(source, e), height);
    let ranks = route.ranks();
    match space.kind {
        HPMOE_ROW_TILES => Extents {
            peer_items: ranks
                .into_iter()
                .flat_map(|owner| {
                    let mut firsts = firsts(route.experts_of(owner).map(row_tiles));
                    firsts.pop();
                    firsts
                })
                .collect(),
            ..plain(route.experts_of(rank).map(row_tiles))
        },
        HPMOE_SENDS => pairs(route, route.experts().map(|e| pieces(rank, e))),
        HPMOE_ARRIVALS => {
            pairs(route, ranks.into_iter().flat_map(|source| route.experts_of(rank).map(move |e| pieces(source, e))))
        }
        HPMOE_EXPERTS => plain(route.experts_of(rank).map(|_| 1)),
        HPMOE_BLOCKS => plain(std::iter::once(route.tokens(rank).div_ceil(height))),
        kind => unreachable!("the compiler knows no space of kind {kind}"),
    }
}

fn plain(items: impl Iterator<Item = usize>) -> Extents {
    let first_items = firsts(items);
    let counted = first_items[..first_items.len() - 1].to_vec();
    Extents { first_items, peer_items: Vec::new(), counted }
}

/// Groups are pairs of a peer and one of its, or the own, experts.
fn pairs(route: &Route, items: impl Iterator<Item = usize>) -> Extents {
    let extents = plain(items);
    let (local, groups) = (route.local_experts(), extents.counted.len());
    let mut counted = vec![0; groups];
    let mut sum = 0;
    for group in (0..local).flat_map(|expert| (expert..groups).step_by(local)) {
        counted[group] = sum;
        sum += extents.first_items[group + 1] - extents.first_items[group];
    }
    Extents { counted, ..extents }
}

/// The sums before each item, then the sum of all.
fn firsts(items: impl Iterator<Item = usize>) -> Vec<i32> {
    let mut sum = 0;
    let mut firsts = vec![0];
    firsts.extend(items.map(|n| {
        sum += n;
        i32::try_from(sum).expect("there are no more items than rows")
    }));
    firsts
}

/// Pieces of a pair's rows, cut at the receiver's row tiles.
fn pieces(pair: Pair, height: usize) -> usize {
    if pair.rows == 0 { 0 } else { (pair.at + pair.rows).div_ceil(height) - pair.at / height }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::route;

    fn on_rank_0(kind: u32, route: &Route) -> Extents {
        extents(&SpaceTable { kind, height: 2 }, route, Rank::new(0))
    }

    #[test]
    fn count_what_the_loops_run_over() {
        let route = route(&[&[0, 1, 1, 3, 1, 2], &[2, 1, 3, 1]], 4);
        let tiles = on_rank_0(HPMOE_ROW_TILES, &route);
        assert_eq!((tiles.first_items, tiles.peer_items), (vec![0, 1, 4], vec![0, 1, 0, 1]));
        let from_loops = |pieces: Vec<usize>| firsts(pieces.into_iter());
        assert_eq!(
            on_rank_0(HPMOE_SENDS, &route).first_items,
            from_loops(route.experts().map(|e| route.sends::<2>(Rank::new(0), e).count()).collect())
        );
        let arrivals = route.ranks().into_iter().flat_map(|source| {
            let route = &route;
            route.experts_of(Rank::new(0)).map(move |e| route.sends::<2>(source, e).count())
        });
        assert_eq!(on_rank_0(HPMOE_ARRIVALS, &route).first_items, from_loops(arrivals.collect()));
        assert_eq!(on_rank_0(HPMOE_BLOCKS, &route).first_items, [0, 2]);
    }

    #[test]
    fn pairs_are_counted_expert_by_expert() {
        let route = route(&[&[0, 1, 1, 3, 1, 2], &[2, 1, 3, 1]], 4);
        let Extents { first_items, counted, .. } = on_rank_0(HPMOE_SENDS, &route);
        let items: Vec<i32> = first_items.windows(2).map(|pair| pair[1] - pair[0]).collect();
        // Pairs are numbered from peer to peer, and each peer has two experts.
        assert_eq!(counted, [0, items[0] + items[2], items[0], items[0] + items[2] + items[1]]);
    }
}
