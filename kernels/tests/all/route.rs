//! Properties of routes: every (token, k) has one place, and the loops of a taskflow cover all places.

use hpmoe_kernels::{Ranks, Route, RouteError, Tensor};
use proptest::prelude::*;

const K: usize = 3;

/// Random groups: numbers of ranks and experts, and the ids of each rank's tokens.
fn groups() -> impl Strategy<Value = (usize, usize, Vec<Vec<i32>>)> {
    (1_usize..=5, 1_usize..=4).prop_flat_map(|(ranks, local)| {
        // A token needs K different experts.
        let local = local.max(K.div_ceil(ranks));
        let experts = ranks * local;
        let all: Vec<i32> = (0..experts as i32).collect();
        let token = Just(all).prop_shuffle().prop_map(|ids| ids[..K].to_vec());
        let rank = prop::collection::vec(token, 0..40).prop_map(|tokens| tokens.concat());
        (Just(ranks), Just(experts), prop::collection::vec(rank, ranks))
    })
}

fn route(ranks: usize, experts: usize, ids: &[Vec<i32>]) -> Result<Route, RouteError> {
    let ids = ids.iter().map(|ids| Tensor::<i32, K>::from_slice(ids)).collect();
    Route::new(Ranks::new(ranks), experts, &ids)
}

/// Checks the pieces and row tiles of height `M`.
fn cover<const M: usize>(route: &Route, ids: &[Vec<i32>]) {
    let mut sent: Vec<Vec<usize>> = ids.iter().map(|ids| vec![0; ids.len()]).collect();
    for owner in route.ranks() {
        let mut received = vec![0; route.received(owner)];
        let mut next = 0;
        for e in route.experts_of(owner) {
            assert_eq!(e.owner(), owner);
            assert_eq!(route.pair(hpmoe_kernels::Rank::new(0), e).base, next, "experts lie one after another");
            let tiles: Vec<_> = route.row_tiles::<M>(e).collect();
            for (i, tile) in tiles.iter().enumerate() {
                assert_eq!((tile.index(), tile.first()), (i, next), "row tiles lie one after another");
                assert!((1..=M).contains(&tile.rows()));
                assert!(tile.rows() == M || i + 1 == tiles.len(), "only the last one is short");
                next += tile.rows();
            }
            let mut last = 0;
            for source in route.ranks() {
                for piece in route.sends::<M>(source, e) {
                    assert!((1..=M).contains(&piece.rows()));
                    let rows = piece.first()..piece.first() + piece.rows();
                    let inside =
                        |t: &&hpmoe_kernels::RowTile<M>| t.first() <= rows.start && rows.end <= t.first() + t.rows();
                    assert_eq!(tiles.iter().filter(inside).count(), 1, "a piece lies in one row tile");
                    assert!(rows.start >= last, "by source, then by the sender's order");
                    last = rows.end;
                    assert!(piece.slots().is_sorted(), "stable: slots of one expert stay in order");
                    for (row, &slot) in rows.zip(piece.slots()) {
                        received[row] += 1;
                        sent[source.id()][slot as usize] += 1;
                        assert_eq!(ids[source.id()][slot as usize], e.id() as i32);
                    }
                }
            }
        }
        assert_eq!(next, received.len());
        assert!(received.iter().all(|n| *n == 1), "each row received is sent once: {received:?}");
    }
    assert!(sent.iter().flatten().all(|n| *n == 1), "each (token, k) is sent once: {sent:?}");
}

/// Checks the pieces of height `M` of once-sent rows, and that each received row names its once-sent row and its origin.
fn once<const M: usize>(route: &Route, ids: &[Vec<i32>]) {
    for owner in route.ranks() {
        let mut tokens = Vec::new();
        for e in route.experts_of(owner) {
            assert_eq!(
                route.pair_once(hpmoe_kernels::Rank::new(0), e).base,
                tokens.len(),
                "experts lie one after another"
            );
            let (base, end) = (tokens.len(), tokens.len() + route.expert_rows_once(e));
            for source in route.ranks() {
                for piece in route.sends_once::<M>(source, e) {
                    assert_eq!(piece.first(), tokens.len(), "by expert, then by source");
                    let (first, rows) = (piece.first() - base, piece.rows());
                    assert!(rows > 0 && first / M == (first + rows - 1) / M, "a piece lies in one row tile");
                    assert!(piece.slots().is_sorted());
                    for &slot in piece.slots() {
                        let token = slot as usize / K;
                        let here = ids[source.id()][token * K..][..K].iter().map(|&id| id as usize);
                        let first = here.filter(|id| id / route.local_experts() == owner.id()).min();
                        assert_eq!(first, Some(e.id()), "a token counts for its first expert on a rank");
                        assert_eq!(ids[source.id()][slot as usize], e.id() as i32);
                        tokens.push((source, token));
                    }
                }
            }
            assert_eq!(tokens.len(), end);
        }
        assert_eq!(tokens.len(), route.received_once(owner));
        let distinct: std::collections::BTreeSet<_> = tokens.iter().collect();
        assert_eq!(distinct.len(), tokens.len(), "a token is sent once");
        let (rows, origins) = (route.rows_once(owner), route.origins(owner));
        assert_eq!((rows.len(), origins.len()), (route.received(owner), route.received(owner)));
        for e in route.experts_of(owner) {
            for source in route.ranks() {
                for piece in route.sends::<M>(source, e) {
                    for (row, &slot) in (piece.first()..).zip(piece.slots()) {
                        assert_eq!(tokens[rows[row] as usize], (source, slot as usize / K));
                        assert_eq!(origins[row], slot);
                    }
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn pieces_and_row_tiles_cover_each_row_once((ranks, experts, ids) in groups()) {
        let route = route(ranks, experts, &ids).unwrap();
        cover::<1>(&route, &ids);
        cover::<4>(&route, &ids);
        cover::<7>(&route, &ids);
    }

    #[test]
    fn each_token_is_sent_once_to_each_of_its_ranks((ranks, experts, ids) in groups()) {
        let route = route(ranks, experts, &ids).unwrap();
        once::<1>(&route, &ids);
        once::<4>(&route, &ids);
        once::<7>(&route, &ids);
    }

    #[test]
    fn token_blocks_cover_each_token_once((ranks, experts, ids) in groups()) {
        let route = route(ranks, experts, &ids).unwrap();
        for rank in route.ranks() {
            let mut next = 0;
            for block in route.token_blocks::<16>(rank) {
                prop_assert_eq!(block.first(), next);
                prop_assert!((1..=16).contains(&block.rows()));
                next += block.rows();
            }
            prop_assert_eq!(next, ids[rank.id()].len() / K);
        }
    }

    #[test]
    fn pairs_are_prefix_sums_over_ranks((ranks, experts, ids) in groups()) {
        let route = route(ranks, experts, &ids).unwrap();
        for e in route.experts() {
            let mut at = 0;
            for source in route.ranks() {
                let pair = route.pair(source, e);
                let wanted = ids[source.id()].iter().filter(|id| **id == e.id() as i32).count();
                prop_assert_eq!((pair.rows, pair.at), (wanted, at));
                prop_assert_eq!(
                    &route.order(source)[pair.order..pair.order + pair.rows],
                    &ids[source.id()]
                        .iter()
                        .enumerate()
                        .filter(|(_, id)| **id == e.id() as i32)
                        .map(|(slot, _)| slot as i32)
                        .collect::<Vec<_>>()[..]
                );
                at += pair.rows;
            }
            prop_assert_eq!(at, route.expert_rows(e));
        }
    }
}

#[test]
fn routes_do_not_differ_by_what_they_were_asked() {
    let ids = [vec![0, 1, 2], vec![3, 1, 0]];
    let (asked, unasked) = (route(2, 4, &ids).unwrap(), route(2, 4, &ids).unwrap());
    assert_eq!(asked.order_once(hpmoe_kernels::Rank::new(0)), [0, 2]);
    assert_eq!(asked, unasked);
    assert_eq!(format!("{asked:?}"), format!("{unasked:?}"));
    assert_eq!(asked.clone().order_once(hpmoe_kernels::Rank::new(1)), [2, 0]);
    assert_ne!(asked, route(2, 4, &[vec![0, 1, 2], vec![3, 2, 0]]).unwrap());
}

#[test]
fn ranks_need_not_divide_the_experts() {
    let route = route(3, 4, &[vec![0, 1, -1], vec![2, -1, -1], vec![3, -1, -1]]).unwrap();
    assert_eq!((route.local_experts(), route.experts().count(), route.expert_count()), (2, 6, 4));
    let held = |expert| route.logical(expert).map(hpmoe_kernels::LogicalExpert::id);
    assert_eq!(route.experts().map(held).collect::<Vec<_>>(), [Some(0), Some(1), Some(2), None, Some(3), None]);
    assert_eq!(route.experts().map(|e| route.expert_rows(e)).collect::<Vec<_>>(), [1, 1, 1, 0, 1, 0]);
    assert!(!route.is_plain() && !route.has_copies());
    let error = crate::route::route(0, 4, &[]).unwrap_err();
    assert_eq!(error.to_string(), "4 experts can't be divided among 0 ranks: use at least one expert and one rank");
    assert!(matches!(error, RouteError::Experts { ranks: 0, .. }));
}

#[test]
fn every_rank_brings_its_ids() {
    assert_eq!(
        route(2, 4, &[vec![]]).unwrap_err().to_string(),
        "topk_ids has 1 tensors, but the group has 2 ranks: pass one per rank, with zero rows for a rank without tokens"
    );
}
