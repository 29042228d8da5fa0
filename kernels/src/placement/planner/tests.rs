use super::draft::{PARTS, Step, score};
use super::*;
use proptest::prelude::*;

fn fullest(placement: &Placement, loads: &[u64]) -> u64 {
    placement.loads(loads).unwrap().into_iter().max().unwrap()
}

/// A generator of random numbers that are the same in every run.
struct Draws(u64);

impl Draws {
    fn next(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below
    }

    fn loads(&mut self, experts: usize) -> Vec<u64> {
        let skew = [1, 10, 100][self.next(3) as usize];
        (0..experts).map(|_| self.next(100) * (1 + self.next(skew))).collect()
    }
}

/// The least load of the fullest rank, in parts of a row, over all placements whose copies have equal shares. With `old` (the old set of
/// experts of each rank, and a limit), only placements that write at most that many places count.
fn optimum(ranks: usize, loads: &[u64], local: usize, old: Option<(&[u32], usize)>) -> u128 {
    let held: Vec<u32> = (0..1_u32 << loads.len()).filter(|held| held.count_ones() as usize <= local).collect();
    let mut chosen = vec![0; ranks];
    let mut best = u128::MAX;
    let mut copies = vec![0_usize; loads.len()];
    loop {
        copies.fill(0);
        let mut writes = 0;
        for (rank, set) in chosen.iter().map(|&n: &usize| held[n]).enumerate() {
            (0..loads.len()).for_each(|expert| copies[expert] += (set >> expert & 1) as usize);
            writes += old.map_or(0, |(old, _)| (set & !old[rank]).count_ones() as usize);
        }
        if copies.iter().all(|copies| *copies > 0) && old.is_none_or(|(_, most)| writes <= most) {
            let load = |n: &usize| -> u128 {
                let of = (0..loads.len()).filter(|expert| held[*n] >> expert & 1 == 1);
                of.map(|expert| u128::from(loads[expert]) * PARTS / copies[expert] as u128).sum()
            };
            best = best.min(chosen.iter().map(load).max().unwrap());
        }
        // The next choice; one whose ranks don't descend if ranks are alike.
        let Some(at) = (0..ranks).rev().find(|&rank| chosen[rank] + 1 < held.len()) else { return best };
        let next = chosen[at] + 1;
        chosen[at] = next;
        chosen[at + 1..].fill(if old.is_none() { next } else { 0 });
    }
}

fn fullest_in_parts(placement: &Placement, loads: &[u64]) -> u128 {
    fullest_load(&Draft::new(placement.ranks().count(), loads, placement.physical_to_logical()).of_rank)
}

#[test]
fn up_to_eight_experts_are_placed_best_and_ten_nearly_so() {
    let mut draws = Draws(7);
    let mut most = 1.0_f64;
    for case in 0..1000 {
        let (ranks, experts, spare) = match case % 40 {
            0 => (2, 9 + draws.next(2) as usize, draws.next(2) as usize),
            1 => (2, 8, draws.next(2) as usize),
            2 => (4, 4 + draws.next(2) as usize, draws.next(2) as usize),
            3 => (3, 6 + draws.next(2) as usize, 0),
            _ => (1 + draws.next(3) as usize, 1 + draws.next(5) as usize, draws.next(3) as usize),
        };
        let loads = draws.loads(experts);
        let placement = Placement::balanced(Ranks::new(ranks), &loads, spare).unwrap();
        let found = fullest_in_parts(&placement, &loads);
        let best = optimum(ranks, &loads, placement.local_experts(), None);
        assert!(experts > 8 || found == best, "{loads:?} on {ranks} ranks with {spare} spare: {placement:?}");
        let over = found as f64 / best.max(1) as f64;
        assert!(over <= 1.2, "{loads:?} on {ranks} ranks with {spare} spare: {placement:?} has {over} of the best");
        most = most.max(over);
    }
    println!("fullest rank over the best: {most} at most");
}

#[test]
fn placements_on_eight_ranks_are_searched_and_on_more_they_are_not() {
    let mut draws = Draws(5);
    let mut bettered = |ranks: usize| {
        let is_bettered = |loads: &Vec<u64>| {
            let mut draft = Draft::packed(ranks, loads, 2);
            draft.improve(usize::MAX);
            let placement = Placement::balanced(Ranks::new(ranks), loads, 1).unwrap();
            fullest_in_parts(&placement, loads) < fullest_load(&draft.of_rank)
        };
        (0..20).map(|_| draws.loads(8)).filter(is_bettered).count()
    };
    assert!(bettered(8) > 0);
    assert_eq!([9, 40].map(bettered), [0; 2]);
}

/// Checks the steps without the exact search for few experts.
#[test]
fn steps_alone_come_near_the_best_placement() {
    let mut draws = Draws(9);
    for _ in 0..300 {
        let (ranks, experts, spare) = (1 + draws.next(3) as usize, 1 + draws.next(5) as usize, draws.next(2) as usize);
        let loads = draws.loads(experts);
        let local = local_experts(experts, spare, ranks);
        let mut draft = Draft::packed(ranks, &loads, local);
        draft.improve(usize::MAX);
        let over = fullest_load(&draft.of_rank) as f64 / optimum(ranks, &loads, local, None).max(1) as f64;
        assert!(over <= 1.2, "{loads:?} on {ranks} ranks with {spare} spare: {over} of the best");
    }
}

#[test]
fn few_experts_are_moved_best() {
    let mut draws = Draws(11);
    for _ in 0..200 {
        let (ranks, experts, spare) = (2 + draws.next(2) as usize, 2 + draws.next(4) as usize, draws.next(2) as usize);
        let (before, loads) = (draws.loads(experts), draws.loads(experts));
        let most_moves = draws.next(4) as usize;
        let old = Placement::balanced(Ranks::new(ranks), &before, spare).unwrap();
        let new = old.rebalanced(&loads, most_moves).unwrap();
        let local = old.local_experts();
        let of = old.physical_to_logical();
        let sets: Vec<u32> = of.chunks(local).map(|of| of.iter().flatten().map(|expert| 1 << expert).sum()).collect();
        assert!(new.moves(&old).unwrap().len() <= most_moves);
        let (found, best) = (fullest_in_parts(&new, &loads), optimum(ranks, &loads, local, Some((&sets, most_moves))));
        assert_eq!(found, best, "{loads:?}, {most_moves} moves from {old:?}: {new:?}");
    }
}

#[test]
fn copies_go_to_the_largest_parts_and_parts_to_the_emptiest_ranks() {
    let packed = |ranks: usize, loads: &[u64], local: usize| Draft::packed(ranks, loads, local).of;
    // The largest part first, to the first of the ranks with the least load.
    assert_eq!(packed(2, &[1, 2, 3, 4], 2), [3, 0, 2, 1].map(Some));
    // 100 rows are two parts of 50; then 60 are the largest part, or three of 33 rows and 30.
    assert_eq!(packed(4, &[100, 60], 1), [0, 0, 1, 1].map(Some));
    assert_eq!(packed(4, &[100, 30], 1), [0, 0, 0, 1].map(Some));
    assert_eq!(packed(4, &[30, 60, 10], 1), [0, 1, 1, 2].map(Some));
    // A part of 50 rows, two of 30, and one of 20.
    assert_eq!(packed(2, &[60, 50, 20], 2), [1, 0, 0, 2].map(Some));
    // A rank holds an expert once, so that the other places are for others.
    assert_eq!(packed(2, &[100, 2, 2], 3), [0, 1, 2, 0, 1, 2].map(Some));
    // Even one row is shared, and no rows are not.
    assert_eq!(packed(2, &[1, 0], 2), [Some(0), Some(1), Some(0), None]);
    assert_eq!(Draft::packed(2, &[1, 0], 2).of_rank, [PARTS / 2; 2]);
}

#[test]
fn drafts_are_judged_by_the_fullest_rank_and_then_by_squares_of_whole_rows() {
    assert_eq!(score(&[3 * PARTS, 4 * PARTS + 1]), (4 * PARTS + 1, 3 * 3 + 4 * 4));
}

#[test]
fn a_rank_has_its_share_of_places_and_spare_ones() {
    for (ranks, experts, spare, places) in [(2, 4, 0, 2), (2, 5, 1, 4), (3, 20, 2, 9), (9, 10, 0, 2)] {
        let placement = Placement::balanced(Ranks::new(ranks), &vec![3; experts], spare).unwrap();
        assert_eq!(placement.local_experts(), places);
    }
}

#[test]
fn steps_are_taken_if_all_of_their_places_may_be_written() {
    let improved = |of: &[Option<usize>], loads: &[u64], most_writes: usize| {
        let mut draft = Draft::new(2, loads, of.to_vec());
        draft.improve(most_writes);
        draft.of
    };
    let full = [0, 1, 2, 3].map(Some);
    assert_eq!(improved(&full, &[5, 4, 1, 1], 1), full);
    assert_eq!(improved(&full, &[5, 4, 1, 1], 2), [2, 1, 0, 3].map(Some));
    let roomy = [Some(0), Some(1), Some(2), None];
    assert_eq!(improved(&roomy, &[5, 4, 1], 0), roomy);
    assert_eq!(improved(&roomy, &[5, 4, 1], 1), [Some(0), None, Some(2), Some(1)]);
}

/// All placements that one step makes from `of` by taking load from `rank`: two places exchanged, an expert put into another place, or a
/// copy left out.
fn after_steps(ranks: usize, experts: usize, of: &[Option<usize>], rank: usize) -> Vec<Vec<Option<usize>>> {
    let local = of.len() / ranks;
    let mut all = Vec::new();
    for place in (rank * local..(rank + 1) * local).filter(|place| of[*place].is_some()) {
        for other in (0..of.len()).filter(|other| other / local != rank) {
            let (mut swapped, mut put) = (of.to_vec(), of.to_vec());
            swapped.swap(place, other);
            put[other] = of[place];
            all.extend([swapped, put]);
        }
        let mut without = of.to_vec();
        without[place] = None;
        all.push(without);
    }
    all.retain(|of| Placement::new(Ranks::new(ranks), experts, of).is_ok());
    all
}

#[test]
fn shares_in_force_that_no_move_betters_are_kept() {
    let ep = Ranks::new(2);
    let held = Placement::new(ep, 3, &[Some(0), Some(1), Some(0), Some(2)]).unwrap();
    // 100 rows of expert 0 even out 60 and 20: 30 and 70 of them.
    let old = held.with_shares(&[30, 1, 70, 1]).unwrap();
    let loads = [100, 60, 20];
    assert_eq!(old.rebalanced(&loads, 0).unwrap(), old);
    assert_eq!(held.rebalanced(&loads, 0).unwrap(), held);
    assert!(fullest(&held, &loads) > fullest(&old, &loads));
}

#[test]
fn many_experts_are_moved_by_steps() {
    let old = Placement::even(Ranks::new(2), 10, 0).unwrap();
    let loads = [9, 9, 9, 9, 9, 1, 1, 1, 1, 1];
    for (most_moves, wanted) in [(0, [45, 5]), (1, [45, 5]), (2, [37, 13]), (4, [29, 21])] {
        assert_eq!(old.rebalanced(&loads, most_moves).unwrap().loads(&loads).unwrap(), wanted);
    }
}

#[test]
fn other_ranks_become_even_if_the_fullest_one_cannot() {
    // Rank 1 has one expert, which is as full as the two of rank 0; two moves are too few to change both.
    let places = [Some(0), Some(1), Some(2), None, Some(3), Some(4)];
    let old = Placement::new(Ranks::new(3), 5, &places).unwrap();
    let loads = [60, 40, 100, 10, 10];
    assert_eq!(old.loads(&loads).unwrap(), [100, 100, 20]);
    assert_eq!(old.rebalanced(&loads, 2).unwrap().loads(&loads).unwrap(), [50, 100, 70]);
}

#[test]
fn a_skewed_layer_of_deepseek_v3_becomes_even() {
    // Zipf 1.2 over 256 experts, 100,000 rows.
    let loads: Vec<u64> = (1..=256).map(|place| (20_000.0 * f64::from(place).powf(-1.2)) as u64).collect();
    for (ranks, most) in [(8, 1.01), (64, 1.06)] {
        let placement = Placement::balanced(Ranks::new(ranks), &loads, 1).unwrap();
        let mean = loads.iter().sum::<u64>() as f64 / ranks as f64;
        let over = fullest(&placement, &loads) as f64 / mean;
        assert!(over <= most, "{ranks} ranks: {over}");
    }
}

#[test]
fn loads_are_those_of_all_experts() {
    let placement = Placement::even(Ranks::new(2), 4, 0).unwrap();
    let refused = PlacementError::Loads { loads: 3, experts: 4 };
    assert_eq!(placement.loads(&[1; 3]), Err(refused));
    assert_eq!(placement.rebalanced(&[1; 3], 1), Err(refused));
    let nothing = |ranks: usize, loads: &[u64]| Placement::balanced(Ranks::new(ranks), loads, 1);
    assert_eq!(nothing(2, &[]), Err(PlacementError::Nothing { ranks: 2, experts: 0 }));
    assert_eq!(nothing(0, &[1]), Err(PlacementError::Nothing { ranks: 0, experts: 1 }));
    assert!(nothing(1, &[1]).is_ok());
    assert_eq!(placement.loads(&[1, 2, 3, 4]).unwrap(), [3, 7]);
}

proptest! {
    #[test]
    fn few_places_are_written_and_no_rank_becomes_fuller(
        (ranks, spare, most_moves) in (1..=8usize, 0..=2usize, 0..=5usize),
        before in prop::collection::vec(0..1_000_000u64, 1..=16),
        shares in prop::collection::vec(1..4u32, 8 * 18),
        drift in prop::collection::vec(1..8u64, 16),
    ) {
        let ep = Ranks::new(ranks);
        let equal = Placement::balanced(ep, &before, spare).unwrap();
        let shared = equal.with_shares(&shares[..equal.physical_to_logical().len()]).unwrap();
        let old = if shares[0] == 1 { equal } else { shared };
        let loads: Vec<u64> = before.iter().zip(&drift).map(|(load, times)| load * times).collect();
        let new = old.rebalanced(&loads, most_moves).unwrap();
        prop_assert!(new.moves(&old).unwrap().len() <= most_moves);
        prop_assert!(fullest(&new, &loads) <= fullest(&old, &loads));
        if most_moves == 0 {
            let emptied = new.physical_to_logical().into_iter().zip(old.physical_to_logical());
            prop_assert!(emptied.into_iter().all(|(new, old)| new.is_none() || new == old));
        }
        prop_assert_eq!(old.rebalanced(&loads, most_moves).unwrap(), new);
    }

    #[test]
    fn no_step_betters_what_steps_have_made(
        (ranks, spare) in (2..=5usize, 0..=2usize),
        loads in prop::collection::vec(0..1000u64, 2..=12),
        turn in 0..5usize,
    ) {
        let mut of = Placement::even(Ranks::new(ranks), loads.len(), spare).unwrap().physical_to_logical();
        let local = of.len() / ranks;
        of.rotate_left(turn % ranks * local);
        let mut draft = Draft::new(ranks, &loads, of);
        let before = score(&draft.of_rank);
        draft.improve(usize::MAX);
        let reached = score(&draft.of_rank);
        prop_assert!(reached <= before);
        let fullest = draft.of_rank.iter().position(|load| *load == reached.0).unwrap();
        for after in after_steps(ranks, loads.len(), &draft.of, fullest) {
            prop_assert!(score(&Draft::new(ranks, &loads, after.clone()).of_rank) >= reached, "{:?} {:?}", after, draft.of);
        }
    }

    #[test]
    fn a_step_changes_loads_as_it_says(
        (ranks, spare) in (2..=5usize, 0..=2usize),
        loads in prop::collection::vec(0..1000u64, 2..=12),
        drops in 0..=4usize,
    ) {
        let mut draft = Draft::packed(ranks, &loads, local_experts(loads.len(), spare, ranks));
        // Places that copies leave empty.
        for _ in 0..drops {
            let mut dropped = (0..ranks).flat_map(|rank| draft.steps(rank).collect::<Vec<_>>());
            if let Some(step) = dropped.find(|step| matches!(step, Step::Drop(_))) {
                draft.take(step);
            }
        }
        for rank in 0..ranks {
            let steps: Vec<Step> = draft.steps(rank).collect();
            for step in steps {
                let (before, mut wanted) = (draft.of.clone(), draft.of_rank.clone());
                draft.add(step, &mut wanted);
                draft.take(step);
                prop_assert_eq!(&draft.of_rank, &wanted);
                draft = Draft::new(ranks, &loads, before);
            }
        }
    }
}
