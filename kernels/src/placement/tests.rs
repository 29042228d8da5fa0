use super::*;
use crate::{PerRank, Route, Tensor};
use proptest::prelude::*;
use std::collections::BTreeSet;

fn refused(ranks: usize, experts: usize, places: &[Option<usize>]) -> String {
    Placement::new(Ranks::new(ranks), experts, places).unwrap_err().to_string()
}

#[test]
fn a_placement_is_whole() {
    assert_eq!(
        refused(2, 3, &[Some(0), Some(1), Some(2)]),
        "3 places can't be divided evenly among 2 ranks: give each rank the same number of places, including empty ones"
    );
    assert_eq!(refused(1, 2, &[Some(0), Some(2)]), "place 1 holds expert 2, but experts are numbered from 0 to 1");
    assert_eq!(
        refused(2, 2, &[Some(0), Some(1), Some(0), Some(0)]),
        "rank 1 has expert 0 in place 2 and again in place 3: put copies of an expert on different ranks"
    );
    assert_eq!(
        refused(2, 3, &[Some(0), Some(1), Some(0), None]),
        "expert 2 has no place: every expert needs one, even if no token goes to it"
    );
    assert!(refused(0, 3, &[]).contains("0 ranks"));
    assert!(refused(2, 0, &[None, None]).contains("0 experts"));
    assert!(matches!(Placement::even(Ranks::new(0), 1, 0), Err(PlacementError::Nothing { .. })));
    assert!(matches!(Placement::even(Ranks::new(1), 0, 0), Err(PlacementError::Nothing { .. })));
    assert!(matches!(Placement::new(Ranks::new(0), 1, &[Some(0)]), Err(PlacementError::Nothing { .. })));
    assert!(matches!(Placement::new(Ranks::new(2), 3, &[]), Err(PlacementError::Uneven { places: 0, .. })));
}

#[test]
fn shares_are_of_all_places() {
    let placement = Placement::even(Ranks::new(2), 3, 0).unwrap();
    assert_eq!(placement.with_shares(&[1; 3]).unwrap_err(), PlacementError::Shares { shares: 3, places: 4 });
    assert_eq!(placement.with_shares(&[1, 0, 1, 1]).unwrap_err(), PlacementError::NoShare { expert: 1 });
    assert_eq!(placement.with_shares(&[7, 1, 9, 0]).unwrap(), placement);
    let most = Placement::new(Ranks::new(2), 1, &[Some(0); 2]).unwrap().with_shares(&[u32::MAX, u32::MAX]).unwrap();
    assert_eq!(most.cuts(), [0..2048, 2048..4096]);
}

#[test]
fn experts_that_ranks_do_not_share_evenly_leave_places_empty() {
    let even = Placement::even(Ranks::new(3), 7, 1).unwrap();
    let held = [Some(0), Some(1), Some(2), None, Some(3), Some(4), None, None, Some(5), Some(6), None, None];
    assert_eq!(even.physical_to_logical(), held);
    assert_eq!((even.local_experts(), even.expert(3), even.expert(12)), (4, None, None));
    let many = Placement::even(Ranks::new(20), 288, 0).unwrap();
    let of_rank: BTreeSet<usize> =
        many.physical_to_logical().chunks(15).map(|places| places.iter().flatten().count()).collect();
    assert_eq!(of_rank, BTreeSet::from([14, 15]));
    let few = Placement::even(Ranks::new(4), 2, 0).unwrap();
    assert_eq!(few.physical_to_logical(), [Some(0), Some(1), None, None]);
}

#[test]
fn digests_tell_placements_apart() {
    let of = |places: &[Option<usize>], shares: &[u32]| {
        Placement::new(Ranks::new(2), 2, places).unwrap().with_shares(shares).unwrap().digest()
    };
    let both = [Some(0), Some(1), Some(0), Some(1)];
    let swapped = [Some(0), Some(1), Some(1), Some(0)];
    let digests = [
        of(&both, &[1; 4]),
        of(&both, &[1, 1, 2, 1]),
        of(&swapped, &[1; 4]),
        of(&[Some(0), Some(1), Some(0), None], &[1; 4]),
        of(&[Some(0), Some(1), Some(1), None], &[1; 4]),
        of(&[Some(0), Some(1), None, Some(0), Some(1), None], &[1; 6]),
    ];
    assert_eq!(digests.iter().collect::<BTreeSet<_>>().len(), digests.len());
    // Users compare digests in files of placements, of whichever version.
    let placed = Placement::new(Ranks::new(2), 3, &[Some(2), Some(0), Some(1), Some(2)]).unwrap();
    assert_eq!(placed.with_shares(&[1, 7, 7, 3]).unwrap().digest(), 13_587_902_171_492_475_853);
}

#[test]
fn moves_come_from_the_same_rank_where_it_has_the_expert() {
    let ep = Ranks::new(2);
    let old = Placement::new(ep, 3, &[Some(0), Some(1), Some(0), Some(2)]).unwrap();
    let new = Placement::new(ep, 3, &[Some(2), Some(1), Some(2), Some(0)]).unwrap();
    let of = |moves: Vec<Move>| -> Vec<[usize; 3]> { moves.iter().map(|m| [m.expert.id(), m.from, m.to]).collect() };
    assert_eq!(of(new.moves(&old).unwrap()), [[2, 3, 0], [2, 3, 2], [0, 2, 3]]);
    assert_eq!(of(old.moves(&old).unwrap()), [[0; 3]; 0]);
    let other = Placement::even(Ranks::new(3), 3, 0).unwrap();
    assert_eq!(new.moves(&other), Err(PlacementError::Apart { what: "ranks", one: 2, other: 3 }));
    let larger = Placement::even(ep, 4, 0).unwrap();
    assert_eq!(new.moves(&larger), Err(PlacementError::Apart { what: "experts", one: 3, other: 4 }));
    let roomy = Placement::even(ep, 3, 1).unwrap();
    assert_eq!(new.moves(&roomy), Err(PlacementError::Apart { what: "places of a rank", one: 2, other: 3 }));
}

/// Random placements: a group, experts, places and shares.
fn any_placement() -> impl Strategy<Value = Placement> {
    (1..=8usize, 1..=24usize, 0..=3usize).prop_flat_map(|(ranks, experts, spare)| {
        let local = experts.div_ceil(ranks) + spare;
        let order = Just((0..experts).collect::<Vec<_>>()).prop_shuffle();
        let more = prop::collection::vec(0..experts, ranks * local);
        let shares = prop::collection::vec(0..9u32, ranks * local);
        (order, more, shares).prop_map(move |(order, more, shares)| {
            // Each expert once, dealt to the ranks; then copies where there is room.
            let mut places = vec![None; ranks * local];
            for (n, expert) in order.into_iter().enumerate() {
                places[n % ranks * local + n / ranks] = Some(expert);
            }
            for (physical, expert) in more.into_iter().enumerate() {
                let rank = physical / local;
                let here = &places[rank * local..(rank + 1) * local];
                if places[physical].is_none() && !here.contains(&Some(expert)) {
                    places[physical] = Some(expert);
                }
            }
            let placement = Placement::new(Ranks::new(ranks), experts, &places).unwrap();
            placement.with_shares(&shares).unwrap_or(placement)
        })
    })
}

fn ids(ranks: usize, experts: usize, seed: u64) -> PerRank<Tensor<i32, 3>> {
    let mut state = seed | 1;
    let mut next = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let part = |_| {
        let mut ids = Vec::new();
        for _ in 0..next(20) {
            let mut row = [-1; 3];
            for k in 0..3 {
                let id = next(experts) as i32;
                if !row.contains(&id) {
                    row[k] = id;
                }
            }
            ids.extend(row);
        }
        Tensor::from_slice(&ids)
    };
    PerRank::from_vec((0..ranks).map(part).collect())
}

proptest! {
    // They take no time.
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn every_row_goes_to_one_copy_of_its_expert(placement in any_placement(), seed in any::<u64>()) {
        let (ep, experts) = (placement.ranks(), placement.experts());
        let ids = ids(ep.count(), experts, seed);
        let route = Route::placed(&placement, &ids).unwrap();
        for source in ep {
            let mut of_slot = vec![-1; ids[source].row_count() * 3];
            for expert in route.experts() {
                let pair = route.pair(source, expert);
                let logical = placement.expert(expert.id());
                prop_assert!(pair.rows == 0 || logical.is_some());
                prop_assert_eq!(route.logical(expert), logical);
                let slots = &route.order(source)[pair.order..][..pair.rows];
                prop_assert!(slots.is_sorted());
                for slot in slots {
                    prop_assert_eq!(of_slot[*slot as usize], -1);
                    of_slot[*slot as usize] = logical.unwrap().id() as i32;
                }
            }
            prop_assert_eq!(of_slot, ids[source].to_vec());
        }
        for rank in ep {
            let mut base = 0;
            for expert in route.experts_of(rank) {
                let mut at = 0;
                for source in ep {
                    let pair = route.pair(source, expert);
                    prop_assert_eq!((pair.base, pair.at), (base, at));
                    at += pair.rows;
                }
                prop_assert_eq!(route.expert_rows(expert), at);
                base += at;
            }
            prop_assert_eq!(route.received(rank), base);
        }
    }

    #[test]
    fn cuts_take_every_row_once_and_in_order(ranks in 1..=300usize, shares in prop::collection::vec(0..1000u32, 1..=64), rows in 0..70_000usize) {
        prop_assume!(shares.iter().any(|share| *share > 0));
        let ranks = ranks.max(shares.len());
        let places: Vec<Option<usize>> = (0..ranks).map(|rank| (rank < shares.len()).then_some(0)).collect();
        let mut all_shares = shares.clone();
        all_shares.resize(ranks, 1);
        let placement = Placement::new(Ranks::new(ranks), 1, &places).unwrap().with_shares(&all_shares).unwrap();
        let sum: u32 = shares.iter().sum();
        for source in [0, 1, ranks / 2, ranks - 1] {
            let mut next = 0;
            for (physical, share) in shares.iter().enumerate() {
                let part = placement.rows(Rank::new(source), physical, rows);
                prop_assert_eq!(part.start, next);
                next = part.end;
                let wanted = rows as f64 * f64::from(*share) / f64::from(sum);
                let slack = 1.0 + rows as f64 / 4096.0;
                prop_assert!((part.len() as f64 - wanted).abs() <= slack, "{} of {}", part.len(), wanted);
            }
            prop_assert_eq!(next, rows);
        }
    }

    #[test]
    fn moves_make_the_new_weights_of_the_old_ones(old in any_placement(), seed in any::<u64>()) {
        let (ranks, experts, local) = (old.ranks().count(), old.experts(), old.local_experts());
        // The same places, ranks and places turned round.
        let turn = seed as usize % ranks;
        let mut places = old.physical_to_logical();
        places.rotate_left(turn * local);
        places.chunks_mut(local).for_each(<[_]>::reverse);
        let new = Placement::new(old.ranks(), experts, &places).unwrap();
        let weights = |placement: &Placement| -> Vec<Option<usize>> { placement.physical_to_logical() };
        let mut made = weights(&old);
        for Move { expert, from, to } in new.moves(&old).unwrap() {
            prop_assert_eq!(old.expert(from), Some(expert));
            made[to] = Some(expert.id());
        }
        for (made, wanted) in made.iter().zip(weights(&new)) {
            prop_assert!(wanted.is_none() || *made == wanted);
        }
    }
}

#[test]
fn sources_even_out_what_rounding_gives() {
    // 64 experts of DeepSeek-V3 on 8 ranks with a spare place each: 8 experts have two copies.
    let ep = Ranks::new(8);
    let mut places: Vec<Option<usize>> = Vec::new();
    for rank in 0..8 {
        places.extend((0..8).map(|e| Some(8 * rank + e)));
        places.push(Some((8 * rank + 8) % 64));
    }
    let placement = Placement::new(ep, 64, &places).unwrap();
    for rows in [3, 17, 100, 1001] {
        let of = |physical: usize| ep.into_iter().map(|s| placement.rows(s, physical, rows).len()).sum::<usize>();
        let copies: Vec<usize> = placement.copies(LogicalExpert::new(8)).map(of).collect();
        assert_eq!(copies, [rows * 4; 2]);
    }
}

#[test]
fn weights_go_to_their_places_and_gradients_come_back() {
    use crate::Experts;
    let placement = Placement::new(Ranks::new(2), 3, &[Some(2), None, Some(0), Some(1), Some(2), None]).unwrap();
    let experts = Experts::<f32, 1, 2>::from_slice(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let placed = placement.place(&experts).unwrap();
    let parts: Vec<Vec<f32>> = placed.iter().map(Experts::to_vec).collect();
    assert_eq!(parts, [[5.0, 6.0, 0.0, 0.0, 1.0, 2.0], [3.0, 4.0, 5.0, 6.0, 0.0, 0.0]]);
    assert_eq!(placement.sum(&placed).unwrap().to_vec(), [1.0, 2.0, 3.0, 4.0, 10.0, 12.0]);
    let columns = Experts::<f32, 2, 1>::from_slice(&experts.to_vec());
    let placed = placement.place(&columns).unwrap();
    assert_eq!(placed.iter().map(Experts::to_vec).collect::<Vec<_>>(), parts);
    assert_eq!(placement.sum(&placed).unwrap().to_vec(), [1.0, 2.0, 3.0, 4.0, 10.0, 12.0]);
    let few = placement.place(&Experts::<f32, 1, 2>::zeros(2));
    assert_eq!(few, Err(PlacementError::Weights { matrices: 2, wanted: 3 }));
    let short = PerRank::from_fn(Ranks::new(2), |_| Experts::<f32, 1, 2>::zeros(2));
    assert_eq!(placement.sum(&short), Err(PlacementError::Weights { matrices: 2, wanted: 3 }));
    // A process has the part of its own rank alone.
    let own = Placement::new(Ranks::joined(Rank::new(1), 2), 3, &placement.physical_to_logical()).unwrap();
    assert_eq!(own.place(&experts).unwrap()[Rank::new(1)].to_vec(), parts[1]);
}

#[test]
fn a_placement_is_in_force_in_its_scope_and_the_one_before_it_afterwards() {
    let [outer, inner] = [[0, 1], [1, 0]].map(|of| Placement::new(Ranks::new(2), 2, &of.map(Some)).unwrap());
    assert_eq!(scope::in_force(), None);
    outer.scope(|| {
        assert_eq!(scope::in_force().as_ref(), Some(&outer));
        assert_eq!(inner.scope(scope::in_force).as_ref(), Some(&inner));
        assert_eq!(scope::in_force().as_ref(), Some(&outer));
        let ended = std::panic::catch_unwind(|| inner.scope(|| panic!("ends the scope")));
        assert!(ended.is_err());
        assert_eq!(scope::in_force().as_ref(), Some(&outer));
    });
    assert_eq!(scope::in_force(), None);
}
