//! Drafts of placements, and the steps that improve them.

/// Number of parts of a row in which loads are counted, because all ranks may share a row.
pub(super) const PARTS: u128 = 1 << 16;

/// A placement that is being made.
pub(super) struct Draft<'a> {
    pub(super) loads: &'a [u64],
    /// Number of places per rank.
    pub(super) local: usize,
    /// The expert that each place holds.
    pub(super) of: Vec<Option<usize>>,
    /// The ranks that hold each expert.
    ranks_of: Vec<Vec<usize>>,
    /// The load of each rank, in parts of a row.
    pub(super) of_rank: Vec<u128>,
}

/// A change of a draft.
#[derive(Clone, Copy)]
pub(super) enum Step {
    /// Exchanges the experts of two places.
    Swap([usize; 2]),
    /// Puts an expert into a place that is empty or holds one of several copies.
    Put(usize, usize),
    /// Moves an expert from one place to an empty one.
    Shift(usize, usize),
    /// Empties a place that holds one of several copies.
    Drop(usize),
}

impl Step {
    /// Number of places that get another expert.
    const fn writes(self) -> usize {
        match self {
            Self::Swap(..) => 2,
            Self::Put(..) | Self::Shift(..) => 1,
            Self::Drop(_) => 0,
        }
    }
}

impl<'a> Draft<'a> {
    pub(super) fn new(ranks: usize, loads: &'a [u64], of: Vec<Option<usize>>) -> Self {
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

    /// Makes a draft from loads alone. First each further copy goes to the expert whose copies have most rows each, until all places are
    /// used or no expert has rows to share. Then the copies are placed, those with most rows first, each on the rank with the least load
    /// that has room and does not hold the expert.
    pub(super) fn packed(ranks: usize, loads: &'a [u64], local: usize) -> Self {
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
        // There is a place for each copy; but if all ranks that have room hold the expert, its last copies are left out.
        for expert in experts {
            for _ in 0..copies[expert] {
                let room = (0..ranks).filter(|&rank| held[rank].len() < local && !held[rank].contains(&expert));
                let Some(rank) = room.min_by_key(|&rank| (of_rank[rank], rank)) else { break };
                held[rank].push(expert);
                of_rank[rank] += part(expert);
            }
        }
        let places = held.iter().flat_map(|held| (0..local).map(|place| held.get(place).copied()));
        Self::new(ranks, loads, places.collect())
    }

    /// Takes the best step again and again, until no step helps or `most_writes` places are written.
    pub(super) fn improve(&mut self, most_writes: usize) {
        let mut left = most_writes;
        while let Some(step) = self.best(left) {
            left -= step.writes();
            self.take(step);
        }
    }

    /// The step that leads to the best [`score`]; `None` if no step improves the draft.
    fn best(&self, most_writes: usize) -> Option<Step> {
        let fullest = (0..self.of_rank.len()).max_by_key(|&rank| (self.of_rank[rank], std::cmp::Reverse(rank)))?;
        let mut best = (score(&self.of_rank), None);
        let mut after = self.of_rank.clone();
        for step in self.steps(fullest).filter(|step| step.writes() <= most_writes) {
            after.copy_from_slice(&self.of_rank);
            self.add(step, &mut after);
            // Few steps make the fullest rank's load less: squares of the others are not needed.
            if fullest_load(&after) > best.0.0 {
                continue;
            }
            let score = score(&after);
            if score < best.0 {
                best = (score, Some(step));
            }
        }
        best.1
    }

    /// The steps that can take load from a rank.
    pub(super) fn steps(&self, rank: usize) -> impl Iterator<Item = Step> + '_ {
        let own = rank * self.local..(rank + 1) * self.local;
        let experts = own.clone().filter_map(|place| Some((place, self.of[place]?)));
        experts.flat_map(move |(place, expert)| {
            let drop = self.is_copied(expert).then_some(Step::Drop(place));
            let others = (0..self.of.len()).filter(move |other| !self.ranks_of[expert].contains(&(other / self.local)));
            let with = move |other: usize| match self.of[other] {
                None => [Some(Step::Shift(place, other)), Some(Step::Put(other, expert))],
                Some(held) => [
                    (!self.ranks_of[held].contains(&rank)).then_some(Step::Swap([place, other])),
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

    /// The load of a place.
    fn load(&self, place: usize) -> u128 {
        self.of[place].iter().map(|&expert| self.part(expert, self.ranks_of[expert].len())).sum()
    }

    /// Changes the loads of all ranks in `of_rank` by the effect of a step.
    pub(super) fn add(&self, step: Step, of_rank: &mut [u128]) {
        match step {
            Step::Swap([a, b]) => {
                let (rank_a, rank_b) = (a / self.local, b / self.local);
                let (part_a, part_b) = (self.load(a), self.load(b));
                of_rank[rank_a] = of_rank[rank_a] - part_a + part_b;
                of_rank[rank_b] = of_rank[rank_b] - part_b + part_a;
            }
            Step::Shift(from, to) => {
                of_rank[from / self.local] -= self.load(from);
                of_rank[to / self.local] += self.load(from);
            }
            Step::Put(place, expert) => {
                let copies = self.ranks_of[expert].len();
                for &rank in &self.ranks_of[expert] {
                    of_rank[rank] -= self.part(expert, copies) - self.part(expert, copies + 1);
                }
                of_rank[place / self.local] += self.part(expert, copies + 1);
                self.without(place, of_rank);
            }
            Step::Drop(place) => self.without(place, of_rank),
        }
    }

    /// Removes the copy in `place`, if there is one, from the loads of all ranks.
    fn without(&self, place: usize, of_rank: &mut [u128]) {
        let Some(held) = self.of[place] else { return };
        let copies = self.ranks_of[held].len();
        of_rank[place / self.local] -= self.part(held, copies);
        for &rank in self.ranks_of[held].iter().filter(|rank| **rank != place / self.local) {
            of_rank[rank] += self.part(held, copies - 1) - self.part(held, copies);
        }
    }

    pub(super) fn take(&mut self, step: Step) {
        match step {
            Step::Swap([a, b]) | Step::Shift(a, b) => self.of.swap(a, b),
            Step::Put(place, expert) => self.of[place] = Some(expert),
            Step::Drop(place) => self.of[place] = None,
        }
        *self = Self::new(self.of_rank.len(), self.loads, std::mem::take(&mut self.of));
    }

    fn sums(&self) -> Vec<u128> {
        let mut sums = vec![0; self.of_rank.len()];
        for place in 0..self.of.len() {
            sums[place / self.local] += self.load(place);
        }
        sums
    }
}

/// The score of a draft; less is better. It has the load of the fullest rank and the sum of the squares of all loads, in whole rows.
pub(super) fn score(of_rank: &[u128]) -> (u128, u128) {
    let square = |parts: &u128| (parts / PARTS).saturating_mul(parts / PARTS);
    (fullest_load(of_rank), of_rank.iter().map(square).fold(0, u128::saturating_add))
}

pub(super) fn fullest_load(of_rank: &[u128]) -> u128 {
    of_rank.iter().copied().max().unwrap_or_default()
}
