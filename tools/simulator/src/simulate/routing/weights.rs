//! Weights that change between draws.

/// Whole weights of places, with the sums that make a draw fast.
pub(super) struct Weights {
    /// A binary tree: the children of node n are the nodes 2n and 2n + 1. The root is node 1, the leaves are the second half, and each
    /// node holds the sum of the leaves below it.
    sums: Vec<u64>,
}

impl Weights {
    pub(super) fn new(weights: &[u64]) -> Self {
        let leaves = weights.len().next_power_of_two();
        let mut sums = vec![0; 2 * leaves];
        sums[leaves..leaves + weights.len()].copy_from_slice(weights);
        for node in (1..leaves).rev() {
            sums[node] = sums[2 * node] + sums[2 * node + 1];
        }
        Self { sums }
    }

    /// The sum of all weights.
    pub(super) fn sum(&self) -> u64 {
        self.sums[1]
    }

    /// Changes the weight of a place.
    pub(super) fn set(&mut self, place: usize, weight: u64) {
        let mut node = self.sums.len() / 2 + place;
        self.sums[node] = weight;
        while node > 1 {
            node /= 2;
            self.sums[node] = self.sums[2 * node] + self.sums[2 * node + 1];
        }
    }

    /// The place of the `at`-th unit of weight, which is below [`Self::sum`], if places follow one another.
    pub(super) fn place_of(&self, mut at: u64) -> usize {
        let leaves = self.sums.len() / 2;
        let mut node = 1;
        while node < leaves {
            node *= 2;
            if at >= self.sums[node] {
                at -= self.sums[node];
                node += 1;
            }
        }
        node - leaves
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_has_as_many_units_as_its_weight() {
        for count in 1..10 {
            let mut own: Vec<u64> = (1..=count).collect();
            let mut weights = Weights::new(&own);
            for (place, weight) in [(0, 0), (count as usize - 1, 4), (count as usize / 2, 0)] {
                own[place] = weight;
                weights.set(place, weight);
                let units = own.iter().enumerate().flat_map(|(place, &weight)| (0..weight).map(move |_| place));
                let found: Vec<usize> = (0..weights.sum()).map(|at| weights.place_of(at)).collect();
                assert!(units.eq(found), "{own:?}");
            }
        }
    }
}
