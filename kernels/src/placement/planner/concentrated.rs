//! Shares that leave copies of experts without rows if reading their weights costs more than they save.

use super::time::{PlacementCosts, Work};
use crate::placement::shares::WHOLE;
use crate::placement::{Placement, PlacementError};

impl Placement {
    /// This placement with shares for the given loads: a copy of an expert gets no rows if it costs more time than it
    /// saves. The copies that take rows have equal shares. No weights move.
    ///
    /// With few tokens, a launch takes as long as reading the weights of all experts that have rows. A copy then adds a
    /// read and saves nothing.
    ///
    /// `loads` has the number of rows of each logical expert in all `launches` launches together. If there are at most 8,191
    /// combinations of copies that take rows (eight experts with two copies each have 6,561), all are tried. Otherwise, a
    /// local search from two starting points is used. The slowest rank is never slower than with equal shares for all copies.
    /// [`payoff`](Self::payoff) defines the time of a rank.
    ///
    /// ```
    /// use hpmoe_kernels::{Placement, PlacementCosts, Ranks};
    ///
    /// let placement = Placement::new(Ranks::new(2), 2, &[Some(0), None, Some(1), Some(0)])?;
    /// let costs = PlacementCosts { row_ns: 300, read_ns: 61_000, copy_ns: 450_000 };
    /// // Expert 0 has 20 rows in a launch, and then 2,000.
    /// let few = placement.concentrated(&[20, 10], 1, &costs)?;
    /// assert_eq!(few.loads(&[20, 10])?, [20, 10]);
    /// let many = placement.concentrated(&[2000, 10], 1, &costs)?;
    /// assert_eq!(many.loads(&[2000, 10])?, [1000, 1010]);
    /// # Ok::<(), hpmoe_kernels::PlacementError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the number of loads is not the number of experts.
    pub fn concentrated(&self, loads: &[u64], launches: u64, costs: &PlacementCosts) -> Result<Self, PlacementError> {
        self.check_loads(loads)?;
        let draft = Draft { placement: self, loads, launches, costs, copies: self.places().copies() };
        let takes = draft.searched().unwrap_or_else(|| draft.stepped());
        let mut takes_rows = vec![false; self.places().count()];
        takes.into_iter().flatten().for_each(|physical| takes_rows[physical] = true);
        self.with_shares(&takes_rows.into_iter().map(u32::from).collect::<Vec<_>>())
    }
}

/// For each logical expert, the physical experts that take its rows, in ascending order.
type Takes = Vec<Vec<usize>>;

struct Draft<'a> {
    placement: &'a Placement,
    loads: &'a [u64],
    launches: u64,
    costs: &'a PlacementCosts,
    /// For each logical expert, all its physical experts.
    copies: Takes,
}

/// The score of a choice; less is better. It has the time of the slowest rank, the sum over all ranks, and the sum of squares, in
/// nanoseconds.
type Score = (u128, u128, u128);

/// Maximum number of combinations that are all tried: that of one expert with 13 copies. Eight experts with two copies each have 6,561.
const MOST_CHOICES: usize = (1 << 13) - 1;

impl Draft<'_> {
    /// The best of all combinations; `None` if there are more than [`MOST_CHOICES`].
    fn searched(&self) -> Option<Takes> {
        let copied: Vec<usize> = (0..self.copies.len()).filter(|expert| self.copies[*expert].len() > 1).collect();
        let sets = |expert: &usize| 1_usize.checked_shl(self.copies[*expert].len() as u32).map(|sets| sets - 1);
        let choices = copied.iter().try_fold(1_usize, |choices, expert| choices.checked_mul(sets(expert)?));
        if choices.is_none_or(|choices| choices > MOST_CHOICES) {
            return None;
        }
        let mut best = (self.score(&self.work(&self.copies)), self.copies.clone());
        let mut takes = self.copies.clone();
        copied.iter().for_each(|expert| takes[*expert].clear());
        let mut of_rank = self.work(&takes);
        self.choose(&copied, &mut of_rank, &mut takes, &mut best);
        Some(best.1)
    }

    /// Tries all combinations of copies for the experts in `copied`, and keeps the best in `best`.
    fn choose(&self, copied: &[usize], of_rank: &mut [Work], takes: &mut Takes, best: &mut (Score, Takes)) {
        let Some((&expert, others)) = copied.split_first() else {
            let score = self.score(of_rank);
            if score < best.0 {
                *best = (score, takes.clone());
            }
            return;
        };
        let copies = &self.copies[expert];
        for set in 1..1_usize << copies.len() {
            let in_set = copies.iter().enumerate().filter(|(n, _)| set >> n & 1 == 1);
            let chosen: Vec<usize> = in_set.map(|(_, physical)| *physical).collect();
            self.change(of_rank, expert, &chosen, Work::add);
            takes[expert].clone_from(&chosen);
            self.choose(others, of_rank, takes, best);
            self.change(of_rank, expert, &chosen, Work::take);
        }
    }

    /// The better of two combinations that no single step improves: one found from all copies, the other from one copy of each expert.
    fn stepped(&self) -> Takes {
        let (all, single) = (self.improved(self.copies.clone()), self.improved(self.single()));
        if self.score(&self.work(&single)) < self.score(&self.work(&all)) { single } else { all }
    }

    /// A start for [`improved`](Self::improved): one copy takes all rows of each logical expert. Experts with only one copy come first. Then
    /// each expert with several copies, in order of falling load, goes to the copy whose rank has the least time with it.
    fn single(&self) -> Takes {
        let mut order: Vec<usize> = (0..self.copies.len()).collect();
        order.sort_by_key(|&expert| (self.copies[expert].len() > 1, std::cmp::Reverse(self.loads[expert]), expert));
        let mut takes = vec![Vec::new(); self.copies.len()];
        let mut of_rank = vec![Work::default(); self.placement.ranks().count()];
        for expert in order {
            let with = |physical: usize| {
                let mut work = of_rank[self.rank(physical)];
                work.add(self.loads[expert], WHOLE, self.launches);
                work.time(self.costs)
            };
            if let Some(least) = self.copies[expert].iter().copied().min_by_key(|&physical| (with(physical), physical))
            {
                of_rank[self.rank(least)].add(self.loads[expert], WHOLE, self.launches);
                takes[expert] = vec![least];
            }
        }
        takes
    }

    /// Takes the best step again and again, until no step helps.
    fn improved(&self, mut takes: Takes) -> Takes {
        let mut of_rank = self.work(&takes);
        let mut score = self.score(&of_rank);
        loop {
            let mut best = None;
            for (expert, taking) in takes.iter().enumerate() {
                for next in steps(&self.copies[expert], taking) {
                    let mut after = of_rank.clone();
                    self.change(&mut after, expert, taking, Work::take);
                    self.change(&mut after, expert, &next, Work::add);
                    let reached = self.score(&after);
                    if reached < score {
                        score = reached;
                        best = Some((expert, next, after));
                    }
                }
            }
            let Some((expert, next, after)) = best else { return takes };
            takes[expert] = next;
            of_rank = after;
        }
    }

    fn work(&self, takes: &Takes) -> Vec<Work> {
        let mut of_rank = vec![Work::default(); self.placement.ranks().count()];
        for (expert, takes) in takes.iter().enumerate() {
            self.change(&mut of_rank, expert, takes, Work::add);
        }
        of_rank
    }

    /// Adds an expert's work to the ranks that take its rows, or subtracts it.
    fn change(&self, of_rank: &mut [Work], expert: usize, takes: &[usize], change: fn(&mut Work, u64, u32, u64)) {
        // As shares of 1 are cut.
        let cut = |n: usize| n as u32 * WHOLE / takes.len() as u32;
        for (n, &physical) in takes.iter().enumerate() {
            change(&mut of_rank[self.rank(physical)], self.loads[expert], cut(n + 1) - cut(n), self.launches);
        }
    }

    fn score(&self, of_rank: &[Work]) -> Score {
        let whole = u128::from(WHOLE);
        of_rank.iter().map(|work| work.time(self.costs)).fold((0, 0, 0), |(most, sum, squares), time| {
            let square = (time / whole).saturating_mul(time / whole);
            (time.max(most), time.saturating_add(sum), square.saturating_add(squares))
        })
    }

    fn rank(&self, physical: usize) -> usize {
        physical / self.placement.local_experts()
    }
}

/// The choices of an expert's copies that one step leads to: one copy more, one fewer, or one exchanged for another.
fn steps(copies: &[usize], takes: &[usize]) -> Vec<Vec<usize>> {
    let others = || copies.iter().copied().filter(|physical| !takes.contains(physical));
    let without = |left_out: usize| takes.iter().copied().filter(move |physical| *physical != left_out);
    let sorted = |mut takes: Vec<usize>| {
        takes.sort_unstable();
        takes
    };
    let mut steps: Vec<Vec<usize>> =
        others().map(|more| sorted(takes.iter().copied().chain([more]).collect())).collect();
    if takes.len() > 1 {
        steps.extend(takes.iter().map(|&fewer| without(fewer).collect()));
    }
    for &gone in takes {
        steps.extend(others().map(|instead| sorted(without(gone).chain([instead]).collect())));
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ranks;
    use crate::placement::planner::time::slowest;
    use proptest::prelude::*;

    const DEEPSEEK_V3: PlacementCosts = PlacementCosts { row_ns: 300, read_ns: 61_000, copy_ns: 450_000 };

    /// The time of the slowest rank, in nanoseconds.
    fn time(placement: &Placement, loads: &[u64], costs: &PlacementCosts) -> u64 {
        placement.payoff(placement, loads, 1, costs).unwrap().before_ns
    }

    /// The least time of the slowest rank over all choices of copies, in nanoseconds.
    fn least(placement: &Placement, loads: &[u64], costs: &PlacementCosts) -> u64 {
        let copies = placement.places().copies();
        let draft = Draft { placement, loads, launches: 1, costs, copies: copies.clone() };
        let choices: usize = copies.iter().map(|copies| (1 << copies.len()) - 1).product();
        let choice = |mut number: usize| {
            let takes = copies.iter().map(|copies| {
                let set = number % ((1 << copies.len()) - 1) + 1;
                number /= (1 << copies.len()) - 1;
                (0..copies.len()).filter(|n| set >> n & 1 == 1).map(|n| copies[n]).collect()
            });
            takes.collect::<Takes>()
        };
        (0..choices).map(|number| slowest(&draft.work(&choice(number)), costs)).min().unwrap()
    }

    #[test]
    fn copies_are_off_with_few_tokens_and_on_with_many() {
        // 64 experts, a launch of `rows` rows for the hottest. With two spare places, there are too many choices to try all.
        let loads = |rows: u64| -> Vec<u64> { (1..=64).map(|place| rows / place + 1).collect() };
        for spare in [1, 2] {
            let placement = Placement::balanced(Ranks::new(8), &loads(100_000), spare).unwrap();
            let with_rows = |placement: &Placement| placement.cuts().iter().filter(|cut| !cut.is_empty()).count();
            assert_eq!(with_rows(&placement), 64 + 8 * spare);
            let few = placement.concentrated(&loads(100), 1, &DEEPSEEK_V3).unwrap();
            assert_eq!(few.physical_to_logical(), placement.physical_to_logical());
            assert_eq!(with_rows(&few), 64, "{few:?}");
            assert!(time(&few, &loads(100), &DEEPSEEK_V3) < time(&placement, &loads(100), &DEEPSEEK_V3));
            // They are on again for many.
            let many = few.concentrated(&loads(100_000), 1, &DEEPSEEK_V3).unwrap();
            let times = [&many, &placement].map(|placement| time(placement, &loads(100_000), &DEEPSEEK_V3));
            assert!(times[0] <= times[1] && with_rows(&many) > 64, "{times:?}");
            assert!(placement.concentrated(&[1; 3], 1, &DEEPSEEK_V3).is_err());
        }
    }

    #[test]
    fn steps_are_one_more_one_fewer_or_another_one() {
        assert_eq!(steps(&[1, 4, 7], &[4]), [vec![1, 4], vec![4, 7], vec![1], vec![7]]);
        let two = [vec![1, 4, 7], vec![7], vec![1], vec![4, 7], vec![1, 4]];
        assert_eq!(steps(&[1, 4, 7], &[1, 7]), two);
        assert_eq!(steps(&[3], &[3]), [[0; 0]; 0]);
    }

    /// Calls `look` with a draft whose experts have these numbers of copies, on ranks with one place each.
    fn with_copies<R>(
        copies: &[usize],
        loads: &[u64],
        costs: &PlacementCosts,
        look: impl FnOnce(&Draft<'_>) -> R,
    ) -> R {
        let of: Vec<_> = (0..copies.len()).flat_map(|expert| vec![Some(expert); copies[expert]]).collect();
        let placement = Placement::new(Ranks::new(of.len()), copies.len(), &of).unwrap();
        let copies = placement.places().copies();
        look(&Draft { placement: &placement, loads, launches: 1, costs, copies })
    }

    #[test]
    fn few_choices_are_all_tried() {
        let is_searched = |copies: &[usize]| {
            with_copies(copies, &vec![1; copies.len()], &DEEPSEEK_V3, |draft| draft.searched().is_some())
        };
        // 3⁸ = 6561, times 1; 3⁹ is more than 8191. 13 copies have 8191 sets, and 14 have 16,383.
        assert!(is_searched(&[2, 2, 1, 2, 2, 2, 2, 1, 1, 2, 2]));
        assert!(!is_searched(&[2; 9]));
        assert!(is_searched(&[13]) && !is_searched(&[14]));
        // A product of more than 64 bits.
        assert!(!is_searched(&[60, 60]) && !is_searched(&[64]) && !is_searched(&[65]));
    }

    #[test]
    fn ranks_are_judged_by_the_slowest_then_all_then_how_unequal_they_are() {
        let costs = PlacementCosts { row_ns: 10, read_ns: 0, copy_ns: 0 };
        with_copies(&[1, 1], &[3, 5], &costs, |draft| {
            let whole = u128::from(WHOLE);
            let wanted = (50 * whole, 80 * whole, 30 * 30 + 50 * 50);
            assert_eq!(draft.score(&draft.work(&draft.copies)), wanted);
            assert_eq!(draft.score(&[]), (0, 0, 0));
        });
    }

    #[test]
    fn single_copies_are_packed_by_their_rows() {
        // Experts 0 and 1 have a copy on each of ranks 0 and 1. Expert 2 lies on rank 0 alone, with the fewest rows.
        let of = [Some(0), Some(1), Some(2), Some(1), Some(0), None];
        let placement = Placement::new(Ranks::new(2), 3, &of).unwrap();
        let costs = PlacementCosts { row_ns: 1, read_ns: 0, copy_ns: 0 };
        let single = |loads: &[u64]| {
            let copies = placement.places().copies();
            Draft { placement: &placement, loads, launches: 1, costs: &costs, copies }.single()
        };
        assert_eq!(single(&[7, 9, 1]), [[0], [3], [2]]);
        assert_eq!(single(&[9, 7, 1]), [[4], [1], [2]]);
        // The larger one is where the lone expert isn't, and the other one where that leaves least.
        assert_eq!(single(&[9, 7, 3]), [[4], [1], [2]]);
        assert_eq!(single(&[4, 3, 8]), [[4], [3], [2]]);
        assert_eq!(single(&[5, 5, 0]), [[0], [3], [2]]);
    }

    #[test]
    fn a_single_copy_goes_to_the_rank_that_is_quickest_with_it() {
        // Without expert 3, rank 0 reads two experts' weights in 20 ns, and rank 1 computes for 21 ns. With it, 30 and 24.
        let of = [Some(0), Some(1), Some(3), Some(2), Some(3), None];
        let placement = Placement::new(Ranks::new(2), 4, &of).unwrap();
        let costs = PlacementCosts { row_ns: 1, read_ns: 10, copy_ns: 0 };
        let copies = placement.places().copies();
        let draft = Draft { placement: &placement, loads: &[2, 3, 21, 3], launches: 1, costs: &costs, copies };
        assert_eq!(draft.single(), [[0], [1], [3], [4]]);
    }

    #[test]
    fn of_equal_choices_the_first_is_taken() {
        // One copy is as good as the other, and better than both.
        let costs = PlacementCosts { row_ns: 0, read_ns: 10, copy_ns: 0 };
        let both = Placement::new(Ranks::new(2), 1, &[Some(0); 2]).unwrap();
        assert_eq!(both.concentrated(&[4], 1, &costs).unwrap().cuts(), [0..4096, 4096..4096]);
        // Without rows, all copies stay as they are.
        assert_eq!(both.concentrated(&[0], 1, &costs).unwrap(), both);
        with_copies(&[2, 2], &[0, 0], &costs, |draft| assert_eq!(draft.stepped(), draft.copies));
    }

    proptest! {
        #[test]
        fn no_single_step_betters_what_steps_have_found(
            (ranks, spare) in (2..=4usize, 1..=2usize),
            loads in prop::collection::vec(0..400u64, 1..=16),
            (row_ns, read_ns) in (0..100u64, 0..10_000u64),
        ) {
            let costs = PlacementCosts { row_ns, read_ns, copy_ns: 0 };
            let placement = Placement::balanced(Ranks::new(ranks), &loads, spare).unwrap();
            let copies = placement.places().copies();
            let draft = Draft { placement: &placement, loads: &loads, launches: 1, costs: &costs, copies: copies.clone() };
            let score = |takes: &Takes| draft.score(&draft.work(takes));
            let ends = [draft.improved(copies.clone()), draft.improved(draft.single())];
            for (end, start) in ends.iter().zip([&copies, &draft.single()]) {
                prop_assert!(score(end) <= score(start));
                for expert in 0..copies.len() {
                    let of = &copies[expert];
                    for set in 1..1_usize << of.len() {
                        let other: Vec<usize> = (0..of.len()).filter(|n| set >> n & 1 == 1).map(|n| of[n]).collect();
                        let apart = |a: &[usize], b: &[usize]| a.iter().filter(|one| !b.contains(one)).count();
                        if apart(&other, &end[expert]) <= 1 && apart(&end[expert], &other) <= 1 {
                            let mut after = end.clone();
                            after[expert] = other;
                            prop_assert!(score(&after) >= score(end), "{:?} of {:?}", after, end);
                        }
                    }
                }
            }
            let least = ends.iter().map(score).min().unwrap();
            prop_assert_eq!(score(&draft.stepped()), least);
            if let Some(searched) = draft.searched() {
                prop_assert!(score(&searched) <= least);
            }
        }

        #[test]
        fn no_rank_becomes_slower_and_nothing_moves(
            (ranks, spare) in (1..=4usize, 0..=2usize),
            loads in prop::collection::vec(0..400u64, 1..=16),
            (row_ns, read_ns) in (0..100u64, 0..10_000u64),
        ) {
            let costs = PlacementCosts { row_ns, read_ns, copy_ns: 0 };
            let placement = Placement::balanced(Ranks::new(ranks), &loads, spare).unwrap();
            let concentrated = placement.concentrated(&loads, 1, &costs).unwrap();
            prop_assert_eq!(concentrated.moves(&placement).unwrap(), []);
            prop_assert_eq!(&placement.concentrated(&loads, 1, &costs).unwrap(), &concentrated);
            let (before, after) = (time(&placement, &loads, &costs), time(&concentrated, &loads, &costs));
            prop_assert!(after <= before, "{} {}", before, after);
            if placement.physical_to_logical().iter().flatten().count() <= loads.len() + 6 {
                prop_assert_eq!(after, least(&placement, &loads, &costs));
            }
        }
    }
}
