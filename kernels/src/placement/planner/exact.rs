//! The best placement of a few experts, by branch and bound.
//!
//! Experts are taken in order of falling load. For each expert, the search tries every set of ranks, with an equal part
//! of the expert's rows on each rank of the set. It prunes a branch if a rank reaches the load of the best placement so
//! far, or if the remaining rows can't fit below that load.

use super::draft::PARTS;

/// Maximum number of logical experts of a search.
pub(super) const EXPERTS: usize = 8;
/// Maximum number of ranks of a search.
pub(super) const RANKS: usize = 8;
/// Maximum number of sets of ranks that a search tries. It then ends with the best placement found so far. With four ranks and 16 places, a
/// search always ends earlier. Trying the maximum takes some milliseconds.
const fn most_sets(ranks: usize) -> u32 {
    if ranks <= 4 { 1 << 22 } else { 1 << 17 }
}

/// The placement that the search starts from, and the maximum number of its places that may be written.
#[derive(Clone, Copy)]
pub(super) struct Change<'a> {
    pub(super) of: &'a [Option<usize>],
    pub(super) most_writes: usize,
}

/// The expert of each place, in the placement whose fullest rank has the least load. `None` if no placement has less than `below` parts of
/// a row on its fullest rank.
pub(super) fn best(
    ranks: usize,
    loads: &[u64],
    local: usize,
    change: Option<Change<'_>>,
    below: u128,
) -> Option<Vec<Option<usize>>> {
    let mut search = Search::new(ranks, loads, local, change, below);
    search.place(0, 0);
    let (found, order) = (search.found.take()?, &search.order);
    let mut sets = vec![0_u32; loads.len()];
    order.iter().zip(found).for_each(|(expert, set)| sets[*expert] = set);
    Some(places(ranks, local, &sets, change))
}

/// The expert of each place, made from the set of ranks of each expert. An expert that stays on a rank stays in its place there.
fn places(ranks: usize, local: usize, sets: &[u32], change: Option<Change<'_>>) -> Vec<Option<usize>> {
    let mut of = change.map_or(vec![None; ranks * local], |change| change.of.to_vec());
    for (place, held) in of.iter_mut().enumerate() {
        *held = held.filter(|expert| has(sets[*expert], place / local));
    }
    for (rank, own) in of.chunks_exact_mut(local).enumerate() {
        for expert in (0..sets.len()).filter(|expert| has(sets[*expert], rank)) {
            if own.contains(&Some(expert)) {
                continue;
            }
            if let Some(free) = own.iter_mut().find(|held| held.is_none()) {
                *free = Some(expert);
            }
        }
    }
    of
}

/// Whether the set contains the rank.
fn has(set: u32, rank: usize) -> bool {
    set >> rank & 1 == 1
}

/// The ranks in a set, in ascending order.
fn ranks_of(mut set: u32) -> impl Iterator<Item = usize> + Clone {
    std::iter::from_fn(move || {
        let rank = (set != 0).then(|| set.trailing_zeros() as usize)?;
        set &= !(1 << rank);
        Some(rank)
    })
}

struct Search<'a> {
    loads: &'a [u64],
    ranks: usize,
    /// Experts, from the highest load to the lowest.
    order: Vec<usize>,
    /// For each expert, the set of ranks that hold it in the old placement.
    held: Vec<u32>,
    /// Whether all ranks are interchangeable, because there is no old placement.
    alike: bool,
    most_writes: usize,
    /// Number of sets that may still be tried.
    left: u32,
    /// Number of empty places of each rank.
    room: Vec<usize>,
    /// Load of each rank, in parts of a row.
    of_rank: Vec<u128>,
    /// For each rank, the set of experts placed there so far, as bits in the order of `order`.
    has: Vec<u32>,
    /// The set of ranks of each expert placed so far.
    chosen: Vec<u32>,
    /// For each position of `order`, a lower bound of the parts of this expert and all later ones.
    rest: Vec<u128>,
    best: u128,
    found: Option<Vec<u32>>,
}

impl<'a> Search<'a> {
    fn new(ranks: usize, loads: &'a [u64], local: usize, change: Option<Change<'_>>, below: u128) -> Self {
        let mut order: Vec<usize> = (0..loads.len()).collect();
        order.sort_by_key(|&expert| (std::cmp::Reverse(loads[expert]), expert));
        let mut held = vec![0_u32; loads.len()];
        for (place, expert) in change.iter().flat_map(|change| change.of.iter().enumerate()) {
            expert.iter().for_each(|expert| held[*expert] |= 1 << (place / local));
        }
        // Equal parts are rounded down, each by less than one.
        let parts = |expert: &usize| (u128::from(loads[*expert]) * PARTS).saturating_sub(ranks as u128);
        let mut rest: Vec<u128> = order.iter().map(parts).collect();
        for n in (1..rest.len()).rev() {
            rest[n - 1] += rest[n];
        }
        Self {
            loads,
            ranks,
            order,
            held,
            alike: change.is_none(),
            most_writes: change.map_or(usize::MAX, |change| change.most_writes),
            left: most_sets(ranks),
            room: vec![local; ranks],
            of_rank: vec![0; ranks],
            has: vec![0; ranks],
            chosen: Vec::new(),
            rest,
            best: below,
            found: None,
        }
    }

    /// Tries all sets of ranks for the expert at position `n` of `order` and later ones, after `writes` places were written.
    fn place(&mut self, n: usize, writes: usize) {
        let Some(&expert) = self.order.get(n) else {
            self.best = self.of_rank.iter().copied().max().unwrap_or_default();
            self.found = Some(self.chosen.clone());
            return;
        };
        if !self.fits(n) {
            return;
        }
        for set in 1..1_u32 << self.ranks {
            if self.left == 0 {
                return;
            }
            self.left -= 1;
            let copies = set.count_ones() as usize;
            let written = writes.saturating_add((set & !self.held[expert]).count_ones() as usize);
            // A second place for an expert without rows changes nothing.
            let useful = self.loads[expert] > 0 || copies == 1;
            if !useful || written > self.most_writes || (self.alike && !self.is_first(set)) {
                continue;
            }
            let part = u128::from(self.loads[expert]) * PARTS / copies as u128;
            let ranks = ranks_of(set);
            if ranks.clone().any(|rank| self.room[rank] == 0 || self.of_rank[rank] + part >= self.best) {
                continue;
            }
            for rank in ranks.clone() {
                self.room[rank] -= 1;
                self.of_rank[rank] += part;
                self.has[rank] |= 1 << n;
            }
            self.chosen.push(set);
            self.place(n + 1, written);
            self.chosen.pop();
            for rank in ranks {
                self.room[rank] += 1;
                self.of_rank[rank] -= part;
                self.has[rank] &= !(1 << n);
            }
        }
    }

    /// Whether the loads of the expert at position `n` of `order` and later ones fit on ranks with room, while each rank's load stays less
    /// than the best so far.
    fn fits(&self, n: usize) -> bool {
        let with_room = self.room.iter().zip(&self.of_rank).filter(|(room, _)| **room > 0);
        with_room.map(|(_, parts)| self.best.saturating_sub(*parts)).sum::<u128>() > self.rest[n]
    }

    /// Whether the set is the first of those that are equal up to an exchange of ranks that hold the same experts.
    fn is_first(&self, set: u32) -> bool {
        ranks_of(set).all(|rank| {
            let alike = self.has[..rank].iter().rposition(|experts| *experts == self.has[rank]);
            alike.is_none_or(|other| has(set, other))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::placement::planner::draft::{Draft, fullest_load};

    /// The number of sets that a search tries, starting from the load that an improved draft reaches.
    fn sets(ranks: usize, loads: &[u64], local: usize, change: Option<Change<'_>>) -> u32 {
        let mut draft = match change {
            Some(change) => Draft::new(ranks, loads, change.of.to_vec()),
            None => Draft::packed(ranks, loads, local),
        };
        draft.improve(change.map_or(usize::MAX, |change| change.most_writes));
        let mut search = Search::new(ranks, loads, local, change, fullest_load(&draft.of_rank));
        search.place(0, 0);
        most_sets(ranks) - search.left
    }

    #[test]
    fn eight_experts_on_four_ranks_are_searched_to_the_end() {
        let mut state = 3_u64;
        let mut next = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        let mut most = 0;
        for _ in 0..30 {
            let skew = 1 + next(50);
            let mut loads = || (0..8).map(|_| 1 + next(100) * (1 + next(skew))).collect::<Vec<u64>>();
            let (before, loads) = (loads(), loads());
            for (ranks, local) in [(2, 5), (2, 8), (3, 4), (3, 5), (4, 3), (4, 4)] {
                let of = Draft::packed(ranks, &before, local).of;
                let changes = [2, 4, usize::MAX].map(|most_writes| Some(Change { of: &of, most_writes }));
                for change in changes.into_iter().chain([None]) {
                    most = most.max(sets(ranks, &loads, local, change));
                }
            }
        }
        assert!(most < most_sets(4), "{most} sets");
    }

    #[test]
    fn ranks_with_the_same_experts_are_taken_in_ascending_order() {
        let first = |has: [u32; 3]| {
            let mut search = Search::new(3, &[1], 1, None, PARTS);
            search.has = has.to_vec();
            (1..8).filter(|set| search.is_first(*set)).collect::<Vec<u32>>()
        };
        assert_eq!(first([0, 0, 0]), [0b001, 0b011, 0b111]);
        assert_eq!(first([1, 0, 0]), [0b001, 0b010, 0b011, 0b110, 0b111]);
        assert_eq!(first([0, 1, 0]), [0b001, 0b010, 0b011, 0b101, 0b111]);
        assert_eq!(first([0, 0, 1]), [0b001, 0b011, 0b100, 0b101, 0b111]);
        assert_eq!(first([0, 1, 2]), [1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(
            [0b1, 0b1010, 1 << 31].map(|set| ranks_of(set).collect::<Vec<_>>()),
            [vec![0], vec![1, 3], vec![31]]
        );
    }

    #[test]
    fn only_placements_with_less_load_are_found() {
        assert_eq!(best(2, &[1, 1], 1, None, PARTS), None);
        assert_eq!(best(2, &[1, 1], 1, None, PARTS + 1), Some(vec![Some(0), Some(1)]));
        // One row has two halves.
        assert_eq!(best(2, &[1], 1, None, PARTS), Some(vec![Some(0), Some(0)]));
        assert_eq!(best(2, &[1], 1, None, PARTS / 2), None);
        assert_eq!(best(2, &[3, 2, 1], 2, None, 4 * PARTS), Some(vec![Some(0), None, Some(1), Some(2)]));
    }

    #[test]
    fn a_search_knows_how_much_is_left() {
        let search = Search::new(3, &[1, 4, 2], 1, None, PARTS);
        let at_least = [7, 3, 1].map(|rows| rows * PARTS);
        // Three parts of a row are a little less than a row.
        assert_eq!(search.rest, [at_least[0] - 9, at_least[1] - 6, at_least[2] - 3]);
        assert_eq!(search.order, [1, 2, 0]);
    }

    #[test]
    fn a_search_tries_few_sets() {
        let tried = |loads: &[u64], local: usize| {
            let mut search = Search::new(4, loads, local, None, 6 * PARTS);
            search.place(0, 0);
            most_sets(4) - search.left
        };
        // All sets of four ranks.
        assert_eq!(tried(&[24], 1), 15);
        // Experts without rows have one place each.
        assert!(tried(&[5, 0, 0, 0, 0], 4) < 1000);
    }

    #[test]
    fn a_search_over_more_ranks_ends() {
        let loads = [910, 803, 707, 613, 509, 401, 307, 211];
        let of: Vec<Option<usize>> = (0..24).map(|place| Some(place % 8)).collect();
        let change = Change { of: &of, most_writes: 9 };
        assert_eq!(sets(8, &loads, 3, Some(change)), most_sets(8));
        // With one spare place on each rank it ends with the best placement.
        assert!(sets(8, &loads, 2, None) < most_sets(8));
    }
}
