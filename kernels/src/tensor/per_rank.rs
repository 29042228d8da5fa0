//! Collections with one part per rank.

use std::ops::{Index, IndexMut};

use crate::{Rank, Ranks};

/// One `X` per rank of a group: `x[r]`.
///
/// A process that runs a single rank holds the part of that rank only, and `x[r]` panics for any other rank:
///
/// ```should_panic
/// use hpmoe_kernels::{PerRank, Rank, Ranks};
///
/// let names = PerRank::from_fn(Ranks::joined(Rank::new(1), 4), |rank| rank.to_string());
/// assert_eq!(names[Rank::new(1)], "rank 1");
/// names[Rank::new(2)].len(); // that part is in the process of rank 2
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct PerRank<X> {
    ranks: Ranks,
    /// The parts of the local ranks, in order.
    parts: Vec<X>,
}

impl<X> PerRank<X> {
    /// Makes a collection from the parts of all ranks, rank 0 first.
    #[must_use]
    pub fn from_vec(parts: Vec<X>) -> Self {
        Self { ranks: Ranks::new(parts.len()), parts }
    }

    /// Makes a collection by calling `part` for each local rank.
    pub fn from_fn(ep: Ranks, part: impl FnMut(Rank) -> X) -> Self {
        Self { ranks: ep, parts: ep.here().map(part).collect() }
    }

    /// Makes a collection for the same ranks by applying `part` to each part.
    pub fn map<Y>(&self, part: impl FnMut(&X) -> Y) -> PerRank<Y> {
        PerRank { ranks: self.ranks, parts: self.parts.iter().map(part).collect() }
    }

    /// The ranks of the group, including which of them are local.
    #[must_use]
    pub const fn ranks(&self) -> Ranks {
        self.ranks
    }

    /// Iterates over the local parts, lowest rank first.
    pub fn iter(&self) -> std::slice::Iter<'_, X> {
        self.parts.iter()
    }

    /// The local parts, lowest rank first.
    #[must_use]
    pub fn into_vec(self) -> Vec<X> {
        self.parts
    }

    /// The position of a rank's part.
    ///
    /// # Panics
    ///
    /// If the rank is not local.
    fn position(&self, rank: Rank) -> usize {
        let Some(position) = self.ranks.position(rank) else { self.refuse(rank) };
        position
    }

    #[cold]
    fn refuse(&self, rank: Rank) -> ! {
        let count = self.ranks.count();
        match self.ranks.only() {
            Some(only) if rank.id() < count => panic!(
                "the part of {rank} is in another process: this one is {only} of {count} and holds the part of {only} \
                 alone; exchange what it needs, or make the collection with Ranks::new({count}) for all parts"
            ),
            _ => panic!("a group of {count} ranks has no {rank}: ranks are numbered from 0"),
        }
    }
}

impl<X> From<Vec<X>> for PerRank<X> {
    fn from(parts: Vec<X>) -> Self {
        Self::from_vec(parts)
    }
}

impl<X> FromIterator<X> for PerRank<X> {
    fn from_iter<I: IntoIterator<Item = X>>(parts: I) -> Self {
        Self::from_vec(parts.into_iter().collect())
    }
}

impl<'a, X> IntoIterator for &'a PerRank<X> {
    type Item = &'a X;
    type IntoIter = std::slice::Iter<'a, X>;

    fn into_iter(self) -> Self::IntoIter {
        self.parts.iter()
    }
}

impl<X> Index<Rank> for PerRank<X> {
    type Output = X;

    fn index(&self, rank: Rank) -> &X {
        &self.parts[self.position(rank)]
    }
}

impl<X> IndexMut<Rank> for PerRank<X> {
    fn index_mut(&mut self, rank: Rank) -> &mut X {
        let position = self.position(rank);
        &mut self.parts[position]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_rank_of_many_holds_its_own_part() {
        let ep = Ranks::joined(Rank::new(2), 4);
        let mut parts = PerRank::from_fn(ep, Rank::id);
        parts[Rank::new(2)] += 10;
        assert_eq!((parts.iter().copied().collect::<Vec<_>>(), parts.ranks()), (vec![12], ep));
        assert_eq!(parts.map(|part| part * 2)[Rank::new(2)], 24);
        assert_eq!((ep.count(), ep.into_iter().count(), ep.here().count()), (4, 4, 1));
    }

    #[test]
    #[should_panic(expected = "the part of rank 3 is in another process: this one is rank 2 of 4")]
    fn the_part_of_another_process_is_refused() {
        let _ = PerRank::from_fn(Ranks::joined(Rank::new(2), 4), Rank::id)[Rank::new(3)];
    }

    #[test]
    #[should_panic(expected = "a group of 2 ranks has no rank 2")]
    fn a_rank_that_does_not_exist_is_refused() {
        let _ = PerRank::from_vec(vec![0, 1])[Rank::new(2)];
    }
}
