//! Ranks of a group, and the experts that they own.

use std::fmt;
use std::iter::Map;
use std::ops::Range;

/// The ranks of an expert-parallel group: `for r in ep`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ranks(usize);

impl Ranks {
    /// A group of `count` ranks.
    #[must_use]
    pub const fn new(count: usize) -> Self {
        Self(count)
    }

    /// Number of ranks.
    #[must_use]
    pub const fn count(self) -> usize {
        self.0
    }
}

impl IntoIterator for Ranks {
    type Item = Rank;
    type IntoIter = Map<Range<usize>, fn(usize) -> Rank>;

    fn into_iter(self) -> Self::IntoIter {
        (0..self.0).map(Rank)
    }
}

/// One rank of a group.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Rank(pub(crate) usize);

impl Rank {
    /// The rank with that number. A group of R ranks numbers them from 0 to R - 1.
    #[must_use]
    pub const fn new(id: usize) -> Self {
        Self(id)
    }

    /// Its number in the group, from 0.
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

/// One expert of the group. Each rank owns the same number of consecutive experts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Expert {
    id: usize,
    local_experts: usize,
}

impl Expert {
    pub(crate) const fn new(id: usize, local_experts: usize) -> Self {
        Self { id, local_experts }
    }

    /// Its number in the group, as in the router's ids.
    #[must_use]
    pub const fn id(self) -> usize {
        self.id
    }

    /// The rank that holds its weights and computes for it.
    #[must_use]
    pub const fn owner(self) -> Rank {
        Rank(self.id / self.local_experts)
    }

    /// Its number among the experts of its owner.
    #[must_use]
    pub const fn local(self) -> usize {
        self.id % self.local_experts
    }
}

impl fmt::Display for Expert {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expert {}", self.id)
    }
}
