//! Ranks of a group, and the physical experts that they own.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::iter::Map;
use std::ops::Range;

/// The ranks of an expert-parallel group: `for r in ep`.
///
/// All ranks may run in this process, or just one of them, with the others in other processes. Loops run over all ranks
/// in both cases; [`PerRank`](crate::PerRank) holds only the parts of the ranks that run [here](Self::here).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ranks {
    count: usize,
    /// The only rank of this process; `None` if all ranks run in this process.
    only: Option<Rank>,
}

impl Ranks {
    /// A group of `count` ranks that all run in this process.
    #[must_use]
    pub const fn new(count: usize) -> Self {
        Self { count, only: None }
    }

    /// A group of `count` ranks, of which only `rank` runs in this process.
    ///
    /// # Panics
    ///
    /// If the group has no such rank.
    #[must_use]
    pub fn joined(rank: Rank, count: usize) -> Self {
        assert!(rank.0 < count, "a group of {count} ranks has no {rank}: ranks are numbered from 0");
        Self { count, only: Some(rank) }
    }

    /// Number of ranks.
    #[must_use]
    pub const fn count(self) -> usize {
        self.count
    }

    /// The single rank of this process; `None` if all ranks run in this process.
    #[must_use]
    pub const fn only(self) -> Option<Rank> {
        self.only
    }

    /// The ranks that run in this process: all of them, or one.
    pub fn here(self) -> impl Iterator<Item = Rank> {
        let ids = self.only.map_or(0..self.count, |Rank(id)| id..id + 1);
        ids.map(Rank)
    }

    /// The position of a rank among the ranks of this process; `None` if it runs in another process.
    pub(crate) fn position(self, rank: Rank) -> Option<usize> {
        match self.only {
            Some(only) => (only == rank).then_some(0),
            None => (rank.0 < self.count).then_some(rank.0),
        }
    }
}

impl IntoIterator for Ranks {
    type Item = Rank;
    type IntoIter = Map<Range<usize>, fn(usize) -> Rank>;

    fn into_iter(self) -> Self::IntoIter {
        (0..self.count).map(Rank)
    }
}

/// One rank of a group.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Rank(pub(crate) usize);

impl Rank {
    /// The rank with number `id`. A group of R ranks numbers them from 0 to R - 1.
    #[must_use]
    pub const fn new(id: usize) -> Self {
        Self(id)
    }

    /// The rank's number in the group, from 0.
    #[must_use]
    pub const fn id(self) -> usize {
        self.0
    }
}

impl fmt::Display for Rank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rank {}", self.0)
    }
}

/// One physical expert of the group: a place that holds the weights of one [`LogicalExpert`](crate::LogicalExpert), or
/// is empty. Each rank owns the same number of consecutive physical experts. Two `Expert`s are equal if their numbers are
/// equal, even if they come from different routes.
#[derive(Clone, Copy, Debug)]
pub struct Expert {
    id: usize,
    local_experts: usize,
    /// First row and number of rows of the expert, among all rows that its owner receives.
    rows: (usize, usize),
}

impl Expert {
    pub(crate) const fn new(id: usize, local_experts: usize, rows: (usize, usize)) -> Self {
        Self { id, local_experts, rows }
    }

    pub(crate) const fn rows(self) -> (usize, usize) {
        self.rows
    }

    /// The physical expert's number in the group. It equals the number in the router's ids if the ranks divide the experts
    /// evenly and there is neither a [`Placement`](crate::Placement) nor a spare place. Otherwise
    /// [`Route::logical`](crate::Route::logical) returns the logical expert, which has the number in the ids.
    #[must_use]
    pub const fn id(self) -> usize {
        self.id
    }

    /// The rank that holds the expert's weights and computes for it.
    #[must_use]
    pub const fn owner(self) -> Rank {
        Rank(self.id / self.local_experts)
    }

    /// The expert's number among the physical experts of its owner, from 0.
    #[must_use]
    pub const fn local(self) -> usize {
        self.id % self.local_experts
    }
}

impl PartialEq for Expert {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl Eq for Expert {}

impl PartialOrd for Expert {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Expert {
    fn cmp(&self, other: &Self) -> Ordering {
        self.id.cmp(&other.id)
    }
}

impl Hash for Expert {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.id.hash(state);
    }
}

impl fmt::Display for Expert {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expert {}", self.id)
    }
}
