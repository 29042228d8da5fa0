//! Small sets in ascending order.

use std::slice::Iter;
use std::vec::IntoIter;

/// A set in ascending order, as a vector.
///
/// Its users hold a few dozen items at most. The build of every user's crate compiles this code once for each type of item, and a B-tree
/// would be ten times as much code.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct SortedSet<T> {
    items: Vec<T>,
}

impl<T: Ord> SortedSet<T> {
    /// Adds an item; returns whether it is new in the set.
    pub(crate) fn insert(&mut self, item: T) -> bool {
        match self.items.binary_search(&item) {
            Ok(_) => false,
            Err(place) => {
                self.items.insert(place, item);
                true
            }
        }
    }

    pub(crate) fn contains(&self, item: &T) -> bool {
        self.items.binary_search(item).is_ok()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    pub(crate) fn iter(&self) -> Iter<'_, T> {
        self.items.iter()
    }
}

impl<T> Default for SortedSet<T> {
    fn default() -> Self {
        Self { items: Vec::new() }
    }
}

impl<T: Ord> Extend<T> for SortedSet<T> {
    fn extend<Items: IntoIterator<Item = T>>(&mut self, items: Items) {
        items.into_iter().for_each(|item| {
            self.insert(item);
        });
    }
}

impl<T: Ord> FromIterator<T> for SortedSet<T> {
    fn from_iter<Items: IntoIterator<Item = T>>(items: Items) -> Self {
        let mut set = Self::default();
        set.extend(items);
        set
    }
}

impl<T> IntoIterator for SortedSet<T> {
    type Item = T;
    type IntoIter = IntoIter<T>;
    fn into_iter(self) -> Self::IntoIter {
        self.items.into_iter()
    }
}

impl<'a, T: Ord> IntoIterator for &'a SortedSet<T> {
    type Item = &'a T;
    type IntoIter = Iter<'a, T>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn is_a_set(items in proptest::collection::vec(0u8..30, 0..40), other in 0u8..30) {
            let (set, expected): (SortedSet<u8>, BTreeSet<u8>) = (items.iter().copied().collect(), items.iter().copied().collect());
            prop_assert!(set.iter().eq(expected.iter()));
            prop_assert_eq!(set.is_empty(), expected.is_empty());
            prop_assert_eq!(set.contains(&other), expected.contains(&other));
            prop_assert_eq!(set.clone().insert(other), !expected.contains(&other));
            prop_assert!(set.into_iter().eq(expected));
        }
    }
}
