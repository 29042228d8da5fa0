//! Sets of ids.

use crate::ids::Id;
use fixedbitset::FixedBitSet;
use std::marker::PhantomData;

/// A set of ids of one arena, in the order of the arena.
#[derive(Clone, Debug)]
pub(crate) struct IdSet<I> {
    bits: FixedBitSet,
    id: PhantomData<I>,
}

impl<I: Id> IdSet<I> {
    pub(crate) fn new() -> Self {
        Self { bits: FixedBitSet::new(), id: PhantomData }
    }

    /// Adds an id; returns whether it is new in the set.
    pub(crate) fn insert(&mut self, id: I) -> bool {
        self.bits.grow(id.index() + 1);
        !self.bits.put(id.index())
    }

    pub(crate) fn contains(&self, id: I) -> bool {
        self.bits.contains(id.index())
    }

    pub(crate) fn len(&self) -> usize {
        self.bits.count_ones(..)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = I> {
        self.bits.ones().map(I::new)
    }

    pub(crate) fn is_subset(&self, other: &Self) -> bool {
        self.bits.is_subset(&other.bits)
    }

    pub(crate) fn retain(&mut self, mut is_kept: impl FnMut(I) -> bool) {
        for index in self.bits.clone().ones() {
            self.bits.set(index, is_kept(I::new(index)));
        }
    }
}

impl<I: Id> Extend<I> for IdSet<I> {
    fn extend<Ids: IntoIterator<Item = I>>(&mut self, ids: Ids) {
        ids.into_iter().for_each(|id| {
            self.insert(id);
        });
    }
}

impl<I: Id> FromIterator<I> for IdSet<I> {
    fn from_iter<Ids: IntoIterator<Item = I>>(ids: Ids) -> Self {
        let mut set = Self::new();
        set.extend(ids);
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::PhaseId;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn phases() -> impl Strategy<Value = BTreeSet<PhaseId>> {
        proptest::collection::btree_set((0u32..200).prop_map(PhaseId), 0..20)
    }

    proptest! {
        #[test]
        fn is_a_set(ids in phases(), others in phases()) {
            let (set, other): (IdSet<PhaseId>, IdSet<PhaseId>) = (ids.iter().copied().collect(), others.iter().copied().collect());
            prop_assert_eq!(set.len(), ids.len());
            prop_assert!(set.iter().eq(ids.iter().copied()));
            prop_assert_eq!(set.is_subset(&other), ids.is_subset(&others));
            for &id in &others {
                prop_assert_eq!(set.contains(id), ids.contains(&id));
                prop_assert_eq!(set.clone().insert(id), !ids.contains(&id));
            }
            let mut kept = set;
            kept.retain(|id| other.contains(id));
            prop_assert!(kept.iter().eq(ids.intersection(&others).copied()));
        }
    }
}
