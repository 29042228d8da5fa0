//! Collections with one part per rank.

use std::ops::{Index, IndexMut};

use crate::{Rank, Ranks};

/// One `X` per rank of a group: `x[r]`.
#[derive(Clone, Debug, PartialEq)]
pub struct PerRank<X>(Vec<X>);

impl<X> PerRank<X> {
    /// A collection of these parts, rank 0 first.
    #[must_use]
    pub const fn from_vec(parts: Vec<X>) -> Self {
        Self(parts)
    }

    /// A collection of what a function makes for each rank.
    pub fn from_fn(ep: Ranks, part: impl FnMut(Rank) -> X) -> Self {
        ep.into_iter().map(part).collect()
    }

    /// Number of ranks.
    #[must_use]
    pub const fn ranks(&self) -> Ranks {
        Ranks::new(self.0.len())
    }

    /// The parts, rank 0 first.
    pub fn iter(&self) -> std::slice::Iter<'_, X> {
        self.0.iter()
    }

    /// The parts, rank 0 first.
    #[must_use]
    pub fn into_vec(self) -> Vec<X> {
        self.0
    }
}

impl<X> From<Vec<X>> for PerRank<X> {
    fn from(parts: Vec<X>) -> Self {
        Self(parts)
    }
}

impl<X> FromIterator<X> for PerRank<X> {
    fn from_iter<I: IntoIterator<Item = X>>(parts: I) -> Self {
        Self(parts.into_iter().collect())
    }
}

impl<'a, X> IntoIterator for &'a PerRank<X> {
    type Item = &'a X;
    type IntoIter = std::slice::Iter<'a, X>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl<X> Index<Rank> for PerRank<X> {
    type Output = X;

    fn index(&self, rank: Rank) -> &X {
        &self.0[rank.id()]
    }
}

impl<X> IndexMut<Rank> for PerRank<X> {
    fn index_mut(&mut self, rank: Rank) -> &mut X {
        &mut self.0[rank.id()]
    }
}
