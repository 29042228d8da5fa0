//! The number of items in each group of an iteration space.

use hpmoe_kernels::route::{Pair, arrival_order};
use hpmoe_kernels::{Expert, RAGGED, Rank, Ranks, Route};

use crate::abi::{
    CHUNK_BUFFERS, HPMOE_ARRIVALS, HPMOE_BLOCKS, HPMOE_CHUNKS, HPMOE_EXPERTS, HPMOE_ONCE_TILES, HPMOE_ROW_TILES,
    HPMOE_SENDS, HPMOE_SENDS_ONCE,
};
use crate::tables::SpaceTable;

/// The extents of a space on one rank.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Extents {
    /// Number of items before each group, then the number of all items.
    pub(crate) first_items: Vec<i32>,
    /// For spaces of row tiles: for each pair of an owner and its local expert, the number of that owner's items before
    /// the expert. Empty for other spaces.
    pub(crate) peer_items: Vec<i32>,
    /// Number of items before each group, if groups are counted in the order of queues: by expert, then by peer.
    pub(crate) counted: Vec<i32>,
}

/// The extents of a space on `rank`, for the chunks of a route. `orders` has each rank's experts in the order of
/// queues.
pub(crate) fn extents(space: &SpaceTable, chunks: &[Route], rank: Rank, orders: &[Vec<usize>]) -> Extents {
    let height = space.height as usize;
    let row_tiles = |owner| {
        let of_chunk = move |route: &Route| route.experts_of(owner).map(|e| route.expert_rows(e)).collect::<Vec<_>>();
        chunks.iter().flat_map(of_chunk).map(|rows| rows.div_ceil(height)).collect::<Vec<_>>()
    };
    let pieces = |source, owner| {
        let of_chunk = move |route: &Route| route.experts_of(owner).map(|e| route.pair(source, e)).collect::<Vec<_>>();
        chunks.iter().flat_map(of_chunk).map(|pair| pieces(pair, height)).collect::<Vec<_>>()
    };
    let route = &chunks[0];
    let ranks = || route.ranks().into_iter();
    let groups = route.local_experts() * chunks.len();
    match space.kind {
        HPMOE_ROW_TILES if height == RAGGED && chunks.len() > 1 => {
            tiles(route.ranks(), rank, row_tiles).counted_alike(route.local_experts())
        }
        HPMOE_ROW_TILES => tiles(route.ranks(), rank, row_tiles).counted(&orders[rank.id()]),
        // Kernels with once-sent rows have one chunk.
        HPMOE_ONCE_TILES => tiles(route.ranks(), rank, |owner| {
            route.experts_of(owner).map(|e| route.expert_rows_once(e).div_ceil(height)).collect()
        })
        .counted(&orders[rank.id()]),
        HPMOE_SENDS_ONCE => plain(route.experts().map(|e| self::pieces(route.pair_once(rank, e), height)))
            .counted(&by_expert(orders.iter())),
        HPMOE_SENDS => plain(ranks().flat_map(|owner| pieces(rank, owner))).counted(&by_expert(orders.iter())),
        HPMOE_ARRIVALS => plain(ranks().flat_map(|source| pieces(source, rank)))
            .counted(&by_expert(ranks().map(|_| &orders[rank.id()]))),
        HPMOE_EXPERTS => plain((0..groups).map(|_| 1)).counted(&orders[rank.id()]),
        kind => {
            let tokens: Vec<usize> = chunks.iter().map(|route| route.tokens(rank)).collect();
            of_tokens(space, &tokens).unwrap_or_else(|| unreachable!("the compiler knows no space of kind {kind}"))
        }
    }
}

/// The extents of a space that depends only on the tokens of each chunk of a rank; `None` for other spaces.
pub(crate) fn of_tokens(space: &SpaceTable, chunk_tokens: &[usize]) -> Option<Extents> {
    let chunks = chunk_tokens.len();
    match space.kind {
        HPMOE_BLOCKS => Some(plain(chunk_tokens.iter().map(|tokens| tokens.div_ceil(space.height as usize)))),
        HPMOE_CHUNKS => {
            let items = (0..chunks).map(|chunk| usize::from(chunk + CHUNK_BUFFERS < chunks));
            // One core runs all items: its message about a chunk must not be overtaken by another core's message about
            // an earlier one.
            Some(Extents { counted: vec![0; chunks], ..plain(items) })
        }
        _ => None,
    }
}

/// The extents of a space whose groups are experts. `tiles_of` gives the number of tiles of each expert of a rank.
fn tiles(ranks: Ranks, rank: Rank, tiles_of: impl Fn(Rank) -> Vec<usize>) -> Extents {
    let of_owner = |owner| {
        let mut firsts = firsts(tiles_of(owner).into_iter());
        firsts.pop();
        firsts
    };
    Extents { peer_items: ranks.into_iter().flat_map(of_owner).collect(), ..plain(tiles_of(rank).into_iter()) }
}

fn plain(items: impl Iterator<Item = usize>) -> Extents {
    let first_items = firsts(items);
    let counted = first_items[..first_items.len() - 1].to_vec();
    Extents { first_items, peer_items: Vec::new(), counted }
}

impl Extents {
    /// Sets `counted`, for groups that queues process in this order.
    fn counted(mut self, groups: &[usize]) -> Self {
        let mut sum = 0;
        for &group in groups {
            self.counted[group] = sum;
            sum += self.first_items[group + 1] - self.first_items[group];
        }
        self
    }

    /// Sets `counted` as if each expert had one item, in every chunk alike: the same core then adds to an expert's
    /// matrices in all chunks.
    fn counted_alike(mut self, experts: usize) -> Self {
        self.counted = (0..experts as i32).cycle().take(self.counted.len()).collect();
        self
    }
}

/// The pairs of a peer and an expert, in the order of queues: the first expert in each peer's order, then the second,
/// and so on.
fn by_expert<'a>(orders: impl Iterator<Item = &'a Vec<usize>>) -> Vec<usize> {
    let orders: Vec<_> = orders.collect();
    let local = orders.first().map_or(0, |order| order.len());
    let peers = |place: usize| orders.iter().enumerate().map(move |(peer, order)| peer * local + order[place]);
    (0..local).flat_map(peers).collect()
}

/// The order in which row tiles arrive, for each local expert, chunk by chunk, if ranks send `turn` rows per turn.
pub(crate) fn arrival_orders((space, turn): (&SpaceTable, u32), chunks: &[Route], rank: Rank) -> Vec<i32> {
    let of_expert = |(route, e): (&Route, Expert)| {
        let rows: Vec<usize> = route.ranks().into_iter().map(|source| route.pair(source, e).rows).collect();
        arrival_order(&rows, rank.id(), space.height as usize, turn as usize)
    };
    let experts = chunks.iter().flat_map(|route| route.experts_of(rank).map(move |e| (route, e)));
    let tiles = experts.flat_map(of_expert);
    tiles.map(|tile| i32::try_from(tile).expect("there are no more items than rows")).collect()
}

/// The number of items before each group, then the total. `items` has the number of items of each group.
fn firsts(items: impl Iterator<Item = usize>) -> Vec<i32> {
    let mut sum = 0;
    let mut firsts = vec![0];
    firsts.extend(items.map(|n| {
        sum += n;
        i32::try_from(sum).expect("there are no more items than rows")
    }));
    firsts
}

/// Number of pieces of a pair: its rows, cut at the boundaries of the receiver's row tiles.
fn pieces(pair: Pair, height: usize) -> usize {
    if pair.rows == 0 { 0 } else { (pair.at + pair.rows).div_ceil(height) - pair.at / height }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::chunks::expert_orders;
    use crate::testing::route;
    use hpmoe_kernels::route::ExpertOrder;

    fn on_rank_0(kind: u32, route: &Route) -> Extents {
        let chunks = std::slice::from_ref(route);
        extents(&SpaceTable { kind, height: 2 }, chunks, Rank::new(0), &expert_orders(chunks, ExpertOrder::Number))
    }

    #[test]
    fn count_what_the_loops_run_over() {
        let route = route(&[&[0, 1, 1, 3, 1, 2], &[2, 1, 3, 1]], 4);
        let tiles = on_rank_0(HPMOE_ROW_TILES, &route);
        assert_eq!((tiles.first_items, tiles.peer_items), (vec![0, 1, 4], vec![0, 1, 0, 1]));
        // Expert 0 has one tile. Expert 1 has three rows from rank 0, then two from rank 1.
        let space = SpaceTable { kind: HPMOE_ROW_TILES, height: 2 };
        assert_eq!(arrival_orders((&space, 1), std::slice::from_ref(&route), Rank::new(0)), [0, 0, 2, 1]);
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
        assert_eq!(
            on_rank_0(HPMOE_SENDS_ONCE, &route).first_items,
            from_loops(route.experts().map(|e| route.sends_once::<2>(Rank::new(0), e).count()).collect())
        );
        // Sent once, experts 0 to 3 have 1, 4, 2 and 2 rows.
        let once = on_rank_0(HPMOE_ONCE_TILES, &route);
        assert_eq!((once.first_items, once.peer_items), (vec![0, 1, 3], vec![0, 1, 0, 1]));
    }

    #[test]
    fn pairs_are_counted_expert_by_expert() {
        let route = route(&[&[0, 1, 1, 3, 1, 2], &[2, 1, 3, 1]], 4);
        let Extents { first_items, counted, .. } = on_rank_0(HPMOE_SENDS, &route);
        let items: Vec<i32> = first_items.windows(2).map(|pair| pair[1] - pair[0]).collect();
        // Pairs are numbered peer by peer, and each peer has two experts.
        assert_eq!(counted, [0, items[0] + items[2], items[0], items[0] + items[2] + items[1]]);
    }

    #[test]
    fn groups_are_counted_as_queues_have_the_experts() {
        let route = route(&[&[0, 1, 1, 2], &[1, 2, 1, 2]], 4);
        let orders = vec![vec![1, 0], vec![0, 1]];
        let counted = |kind| {
            extents(&SpaceTable { kind, height: 8 }, std::slice::from_ref(&route), Rank::new(0), &orders).counted
        };
        assert_eq!(counted(HPMOE_ROW_TILES), [1, 0]);
        // Rank 0 sends rows to experts 0, 1 and 2, and rank 1 to 1 and 2.
        assert_eq!(counted(HPMOE_SENDS), [2, 0, 1, 3]);
        assert_eq!(counted(HPMOE_ARRIVALS), [2, 0, 3, 1]);
    }
}
