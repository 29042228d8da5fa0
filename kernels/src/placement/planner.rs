//! Which placement shares the load well.
//!
//! The load of a rank is that of its physical experts, and a physical expert has an equal part of its logical one's. Fewer rows on the fullest
//! rank are better, then more equal ranks. All numbers are whole, and ties go to lower numbers, so that every process finds the same placement.

use super::{Placement, PlacementError, local_experts};
use crate::Ranks;

/// Parts of a row that loads are counted in: a row may be shared by as many ranks as there are.
const PARTS: u128 = 1 << 16;

impl Placement {
    /// A placement for a group whose experts had these loads, for instance the numbers of their rows in the last launches, in which each rank
    /// has so many places beyond its share. Copies of the experts with most rows take them.
    ///
    /// ```
    /// use hpmoe_kernels::{Placement, Ranks};
    ///
    /// // Half of all rows go to expert 0.
    /// let placement = Placement::balanced(Ranks::new(2), &[60, 20, 20, 20], 1)?;
    /// assert_eq!(placement.copies(hpmoe_kernels::LogicalExpert::new(0)).count(), 2);
    /// assert_eq!(placement.loads(&[60, 20, 20, 20])?, [60, 60]);
    /// # Ok::<(), hpmoe_kernels::PlacementError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If there are no experts or no ranks.
    pub fn balanced(ep: Ranks, loads: &[u64], spare: usize) -> Result<Self, PlacementError> {
        let (ranks, experts) = (ep.count(), loads.len());
        if ranks == 0 || experts == 0 {
            return Err(PlacementError::Nothing { ranks, experts });
        }
        let mut draft = Draft::packed(ranks, loads, local_experts(experts, spare, ranks));
        draft.improve(usize::MAX);
        Self::new(ep, experts, &draft.of)
    }

    /// A placement for other loads that writes at most `most_moves` places of this one. Its fullest rank has at most as many rows as that of this
    /// placement. Copies get equal shares.
    ///
    /// # Errors
    ///
    /// If there is not one load for each expert.
    pub fn rebalanced(&self, loads: &[u64], most_moves: usize) -> Result<Self, PlacementError> {
        self.check_loads(loads)?;
        let mut draft = Draft::new(self.ranks.count(), loads, self.physical_to_logical());
        draft.improve(most_moves);
        Self::new(self.ranks, self.experts(), &draft.of)
    }

    /// The rows of each rank, where experts have these loads: without what rounding adds.
    ///
    /// # Errors
    ///
    /// If there is not one load for each expert.
    pub fn loads(&self, loads: &[u64]) -> Result<Vec<u64>, PlacementError> {
        self.check_loads(loads)?;
        let mut of_ranks = vec![0_u128; self.ranks.count()];
        for (physical, cut) in self.cuts().into_iter().enumerate() {
            if let Some(expert) = self.expert(physical) {
                let parts = u128::from(cut.end - cut.start) * u128::from(loads[expert.id()]);
                of_ranks[physical / self.local_experts()] += parts;
            }
        }
        let whole = u128::from(super::shares::WHOLE);
        Ok(of_ranks.into_iter().map(|parts| u64::try_from(parts / whole).unwrap_or(u64::MAX)).collect())
    }

    fn check_loads(&self, loads: &[u64]) -> Result<(), PlacementError> {
        match loads.len() == self.experts() {
            true => Ok(()),
            false => Err(PlacementError::Loads { loads: loads.len(), experts: self.experts() }),
        }
    }
}

/// A placement in the making.
struct Draft<'a> {
    loads: &'a [u64],
    /// Places of each rank.
    local: usize,
    /// By place: the expert that it holds.
    of: Vec<Option<usize>>,
    /// By expert: the ranks that hold it.
    ranks_of: Vec<Vec<usize>>,
    /// By rank: its load, in parts of a row.
    of_rank: Vec<u128>,
}

/// A change of a draft.
#[derive(Clone, Copy)]
enum Step {
    /// Two places exchange what they hold.
    Swap(usize, usize),
    /// A place that is empty or holds one of several copies gets an expert.
    Put(usize, usize),
    /// An expert goes from one place to an empty one.
    Shift(usize, usize),
    /// A place with one of several copies becomes empty.
    Drop(usize),
}

impl Step {
    /// Places that are written.
    const fn writes(self) -> usize {
        match self {
            Self::Swap(..) => 2,
            Self::Put(..) | Self::Shift(..) => 1,
            Self::Drop(_) => 0,
        }
    }
}

impl<'a> Draft<'a> {
    fn new(ranks: usize, loads: &'a [u64], of: Vec<Option<usize>>) -> Self {
        let local = of.len() / ranks;
        let mut draft = Self { loads, local, ranks_of: vec![Vec::new(); loads.len()], of_rank: vec![0; ranks], of };
        for place in 0..draft.of.len() {
            if let Some(expert) = draft.of[place] {
                draft.ranks_of[expert].push(place / local);
            }
        }
        draft.of_rank = draft.sums();
        draft
    }

    /// Copies go to the expert with the largest part for each, until places are full or nothing is left to share; then parts are packed, the
    /// largest first, each to the rank with the least load that has room and does not hold the expert.
    fn packed(ranks: usize, loads: &'a [u64], local: usize) -> Self {
        let mut copies = vec![1_usize; loads.len()];
        for _ in loads.len()..ranks * local {
            let more = (0..loads.len()).filter(|&e| copies[e] < ranks && loads[e] > 0);
            // The first of those with the largest part.
            let largest = more.min_by(|&a, &b| {
                let (a_parts, b_parts) =
                    (u128::from(loads[a]) * copies[b] as u128, u128::from(loads[b]) * copies[a] as u128);
                b_parts.cmp(&a_parts).then(a.cmp(&b))
            });
            let Some(expert) = largest else { break };
            copies[expert] += 1;
        }
        let part = |expert: usize| u128::from(loads[expert]) * PARTS / copies[expert] as u128;
        let mut experts: Vec<usize> = (0..loads.len()).collect();
        experts.sort_by_key(|&expert| (std::cmp::Reverse(part(expert)), expert));
        let mut held: Vec<Vec<usize>> = vec![Vec::new(); ranks];
        let mut of_rank = vec![0_u128; ranks];
        // Experts that have no place yet, and places that hold none.
        let (mut left, mut free) = (loads.len(), ranks * local);
        for expert in experts {
            for copy in 0..copies[expert] {
                // A place is kept for each expert that has none yet.
                if copy > 0 && free < left {
                    break;
                }
                let room = (0..ranks).filter(|&rank| held[rank].len() < local && !held[rank].contains(&expert));
                let Some(rank) = room.min_by_key(|&rank| (of_rank[rank], rank)) else { break };
                held[rank].push(expert);
                of_rank[rank] += part(expert);
                free -= 1;
            }
            left -= 1;
        }
        let places = held.iter().flat_map(|held| (0..local).map(|place| held.get(place).copied()));
        Self::new(ranks, loads, places.collect())
    }

    /// Takes the best steps until none is left that helps, or so many places are written.
    fn improve(&mut self, most_writes: usize) {
        let mut left = most_writes;
        while let Some(step) = self.best(left) {
            left -= step.writes();
            self.take(step);
        }
    }

    /// The step that makes the fullest rank's load least, then that of the sum of squares; none if no step makes them less.
    fn best(&self, most_writes: usize) -> Option<Step> {
        let fullest = (0..self.of_rank.len()).max_by_key(|&rank| (self.of_rank[rank], std::cmp::Reverse(rank)))?;
        let mut best = (score(&self.of_rank), None);
        for step in self.steps(fullest).filter(|step| step.writes() <= most_writes) {
            let score = score(&self.after(step));
            if score < best.0 {
                best = (score, Some(step));
            }
        }
        best.1
    }

    /// The steps that take load from a rank.
    fn steps(&self, rank: usize) -> impl Iterator<Item = Step> + '_ {
        let own = rank * self.local..(rank + 1) * self.local;
        let experts = own.clone().filter_map(|place| Some((place, self.of[place]?)));
        experts.flat_map(move |(place, expert)| {
            let drop = self.is_copied(expert).then_some(Step::Drop(place));
            let others = (0..self.of.len()).filter(move |other| {
                let there = other / self.local;
                there != rank && !self.ranks_of[expert].contains(&there)
            });
            let with = move |other: usize| match self.of[other] {
                None => [Some(Step::Shift(place, other)), Some(Step::Put(other, expert))],
                Some(held) => [
                    (!self.ranks_of[held].contains(&rank)).then_some(Step::Swap(place, other)),
                    self.is_copied(held).then_some(Step::Put(other, expert)),
                ],
            };
            drop.into_iter().chain(others.flat_map(with).flatten())
        })
    }

    fn is_copied(&self, expert: usize) -> bool {
        self.ranks_of[expert].len() > 1
    }

    fn part(&self, expert: usize, copies: usize) -> u128 {
        u128::from(self.loads[expert]) * PARTS / copies as u128
    }

    /// The loads of all ranks after a step.
    fn after(&self, step: Step) -> Vec<u128> {
        let mut of_rank = self.of_rank.clone();
        match step {
            Step::Swap(a, b) => {
                let (rank_a, rank_b) = (a / self.local, b / self.local);
                let part =
                    |place: usize| self.of[place].map_or(0, |expert| self.part(expert, self.ranks_of[expert].len()));
                let (part_a, part_b) = (part(a), part(b));
                of_rank[rank_a] = of_rank[rank_a] - part_a + part_b;
                of_rank[rank_b] = of_rank[rank_b] - part_b + part_a;
            }
            Step::Shift(from, to) => {
                let part = self.of[from].map_or(0, |expert| self.part(expert, self.ranks_of[expert].len()));
                of_rank[from / self.local] -= part;
                of_rank[to / self.local] += part;
            }
            Step::Put(place, expert) => {
                let copies = self.ranks_of[expert].len();
                for &rank in &self.ranks_of[expert] {
                    of_rank[rank] -= self.part(expert, copies) - self.part(expert, copies + 1);
                }
                of_rank[place / self.local] += self.part(expert, copies + 1);
                self.without(place, &mut of_rank);
            }
            Step::Drop(place) => self.without(place, &mut of_rank),
        }
        of_rank
    }

    /// Takes the copy in a place from the loads of all ranks, if there is one.
    fn without(&self, place: usize, of_rank: &mut [u128]) {
        let Some(held) = self.of[place] else { return };
        let copies = self.ranks_of[held].len();
        of_rank[place / self.local] -= self.part(held, copies);
        for &rank in self.ranks_of[held].iter().filter(|rank| **rank != place / self.local) {
            of_rank[rank] += self.part(held, copies - 1) - self.part(held, copies);
        }
    }

    fn take(&mut self, step: Step) {
        match step {
            Step::Swap(a, b) | Step::Shift(a, b) => self.of.swap(a, b),
            Step::Put(place, expert) => self.of[place] = Some(expert),
            Step::Drop(place) => self.of[place] = None,
        }
        *self = Self::new(self.of_rank.len(), self.loads, std::mem::take(&mut self.of));
    }

    fn sums(&self) -> Vec<u128> {
        let mut sums = vec![0; self.of_rank.len()];
        for (place, expert) in self.of.iter().enumerate() {
            if let Some(expert) = *expert {
                sums[place / self.local] += self.part(expert, self.ranks_of[expert].len());
            }
        }
        sums
    }
}

/// Less is better: the load of the fullest rank, then the sum of the squares of all, in whole rows.
fn score(of_rank: &[u128]) -> (u128, u128) {
    let square = |parts: &u128| (parts / PARTS).saturating_mul(parts / PARTS);
    let most = of_rank.iter().copied().max().unwrap_or(0);
    (most, of_rank.iter().map(square).fold(0, u128::saturating_add))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn fullest(placement: &Placement, loads: &[u64]) -> u64 {
        placement.loads(loads).unwrap().into_iter().max().unwrap()
    }

    /// The least load of the fullest rank, in parts, over all placements whose copies have equal shares.
    fn optimum(ranks: usize, loads: &[u64], local: usize) -> u128 {
        let held: Vec<u32> = (0..1_u32 << loads.len()).filter(|held| held.count_ones() as usize <= local).collect();
        let mut chosen = vec![0; ranks];
        let mut best = u128::MAX;
        loop {
            let of_rank: Vec<u32> = chosen.iter().map(|&n: &usize| held[n]).collect();
            let copies: Vec<u128> = (0..loads.len())
                .map(|expert| of_rank.iter().filter(|held| *held >> expert & 1 == 1).count() as u128)
                .collect();
            if copies.iter().all(|copies| *copies > 0) {
                let load = |held: &u32| -> u128 {
                    let of = (0..loads.len()).filter(|expert| held >> expert & 1 == 1);
                    of.map(|expert| u128::from(loads[expert]) * PARTS / copies[expert]).sum()
                };
                best = best.min(of_rank.iter().map(load).max().unwrap());
            }
            // The next choice whose ranks don't descend: ranks are alike.
            let Some(at) = (0..ranks).rev().find(|&rank| chosen[rank] + 1 < held.len()) else { return best };
            let next = chosen[at] + 1;
            chosen[at..].fill(next);
        }
    }

    #[test]
    fn small_groups_come_near_the_best_placement() {
        let mut state = 7_u64;
        let mut next = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        let mut sum = 0.0;
        for case in 0..200 {
            let (ranks, experts, spare) = (1 + next(3) as usize, 1 + next(5) as usize, next(2) as usize);
            let skew = [1, 10, 100][case % 3];
            let loads: Vec<u64> = (0..experts).map(|_| next(100) * (1 + next(skew))).collect();
            let placement = Placement::balanced(Ranks::new(ranks), &loads, spare).unwrap();
            let draft = Draft::new(ranks, &loads, placement.physical_to_logical());
            let (found, best) = (score(&draft.of_rank).0, optimum(ranks, &loads, placement.local_experts()));
            let over = found as f64 / best.max(1) as f64;
            assert!(over <= 1.2, "{loads:?} on {ranks} ranks with {spare} spare: {placement:?} has {over} of the best");
            sum += over;
        }
        assert!(sum / 200.0 < 1.02, "{}", sum / 200.0);
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
        assert!(Placement::balanced(Ranks::new(2), &[], 0).is_err());
        assert_eq!(placement.loads(&[1, 2, 3, 4]).unwrap(), [3, 7]);
    }

    proptest! {
        #[test]
        fn few_places_are_written_and_no_rank_becomes_fuller(
            (ranks, spare, most_moves) in (1..=6usize, 0..=2usize, 0..=5usize),
            before in prop::collection::vec(0..1000u64, 1..=16),
            drift in prop::collection::vec(1..8u64, 16),
        ) {
            let ep = Ranks::new(ranks);
            let old = Placement::balanced(ep, &before, spare).unwrap();
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
        fn a_step_changes_loads_as_it_says(
            (ranks, spare) in (2..=5usize, 0..=2usize),
            loads in prop::collection::vec(0..1000u64, 2..=12),
        ) {
            let mut draft = Draft::packed(ranks, &loads, local_experts(loads.len(), spare, ranks));
            for rank in 0..ranks {
                let steps: Vec<Step> = draft.steps(rank).collect();
                for step in steps.into_iter().step_by(7) {
                    let (before, wanted) = (draft.of.clone(), draft.after(step));
                    draft.take(step);
                    prop_assert_eq!(&draft.of_rank, &wanted);
                    draft = Draft::new(ranks, &loads, before);
                }
            }
        }
    }
}
