//! Disjoint sets.

/// Disjoint sets of the numbers from 0 on; at first, each number is in its own set.
#[derive(Clone, Debug)]
pub(crate) struct DisjointSets {
    /// For each number, the least number of its set, or a number closer to it.
    towards: Vec<usize>,
}

impl DisjointSets {
    pub(crate) fn new(numbers: usize) -> Self {
        Self { towards: (0..numbers).collect() }
    }

    /// Merges the sets of two numbers.
    pub(crate) fn join(&mut self, one: usize, other: usize) {
        let (one, other) = (self.first(one), self.first(other));
        self.towards[one.max(other)] = one.min(other);
    }

    /// The least number of a number's set.
    pub(crate) fn first(&self, mut number: usize) -> usize {
        while self.towards[number] != number {
            number = self.towards[number];
        }
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use petgraph::unionfind::UnionFind;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn are_those_of_petgraph(pairs in proptest::collection::vec((0usize..30, 0usize..30), 0..40)) {
            let (mut sets, mut expected) = (DisjointSets::new(30), UnionFind::<usize>::new(30));
            for (one, other) in pairs {
                sets.join(one, other);
                expected.union(one, other);
            }
            for number in 0..30 {
                let least = (0..30).find(|&other| expected.equiv(number, other)).unwrap();
                prop_assert_eq!(sets.first(number), least);
            }
        }
    }
}
