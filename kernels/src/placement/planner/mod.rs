//! Finds a placement that balances the load.
//!
//! The load of a rank is the sum of the loads of its physical experts, and physical experts of one logical expert have
//! equal loads. The planner minimises the rows on the fullest rank, then the imbalance between ranks. It uses integers
//! only, and ties go to the lower number, so that every process finds the same placement.

mod average;
mod concentrated;
mod draft;
mod exact;
mod payoff;
mod time;

pub use average::LoadAverage;
pub use payoff::Payoff;
pub use time::PlacementCosts;

use super::{Placement, PlacementError, local_experts, shares};
use crate::Ranks;
use draft::{Draft, fullest_load};
use exact::Change;

impl Placement {
    /// A balanced placement for the given loads, for instance the number of rows of each logical expert in the last
    /// launches. Each rank has `spare` places beyond its even share of the experts, rounded up. These places hold copies of
    /// the experts with most rows, or stay empty.
    ///
    /// With up to 8 experts on up to 4 ranks with up to 16 places in total, no other placement with equal shares gives
    /// the fullest rank fewer rows.
    ///
    /// ```
    /// use hpmoe_kernels::{Placement, Ranks};
    ///
    /// // Half of all rows go to expert 0.
    /// let placement = Placement::balanced(Ranks::new(2), &[60, 20, 20, 20], 1)?;
    /// assert_eq!(placement.copies(hpmoe_kernels::LogicalExpert::new(0)).count(), 2);
    /// assert_eq!(placement.loads(&[60, 20, 20, 20])?, [60, 60]);
    /// # Ok::<(), hpmoe_kernels::PlacementError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If there are no experts or no ranks.
    pub fn balanced(ep: Ranks, loads: &[u64], spare: usize) -> Result<Self, PlacementError> {
        let (ranks, experts) = (ep.count(), loads.len());
        if ranks == 0 {
            return Err(PlacementError::Nothing { ranks, experts });
        }
        let mut draft = Draft::packed(ranks, loads, local_experts(experts, spare, ranks));
        draft.improve(usize::MAX);
        Self::new(ep, experts, &draft.finished(None))
    }

    /// A placement for new loads that puts other experts into at most `most_moves` places of this one. Places that become
    /// empty are not counted. The new placement's fullest rank never has more rows than this placement's fullest rank.
    /// Copies get equal shares. If the placement found in this way would give the fullest rank more rows, this placement
    /// is returned unchanged.
    ///
    /// With up to 8 experts on up to 4 ranks with up to 16 places in total, no other placement with equal shares and at
    /// most `most_moves` places with other experts gives the fullest rank fewer rows.
    ///
    /// # Errors
    ///
    /// If the number of loads is not the number of experts.
    pub fn rebalanced(&self, loads: &[u64], most_moves: usize) -> Result<Self, PlacementError> {
        self.check_loads(loads)?;
        let mut draft = Draft::new(self.ranks.count(), loads, self.physical_to_logical());
        let in_force = draft.of.clone();
        draft.improve(most_moves);
        let change = Change { of: &in_force, most_writes: most_moves };
        let new = Self::new(self.ranks, self.experts(), &draft.finished(Some(change)))?;
        Ok(if fullest_load(&new.parts(loads)) <= fullest_load(&self.parts(loads)) { new } else { self.clone() })
    }

    /// The number of rows of each rank for the given loads, which are the rows of each logical expert. Each rank's sum of exact
    /// shares is rounded down.
    ///
    /// # Errors
    ///
    /// If the number of loads is not the number of experts.
    pub fn loads(&self, loads: &[u64]) -> Result<Vec<u64>, PlacementError> {
        self.check_loads(loads)?;
        let whole = u128::from(shares::WHOLE);
        Ok(self.parts(loads).into_iter().map(|parts| u64::try_from(parts / whole).unwrap_or(u64::MAX)).collect())
    }

    /// The rows of each rank, in units of 1/[`shares::WHOLE`] row.
    fn parts(&self, loads: &[u64]) -> Vec<u128> {
        let mut of_ranks = vec![0_u128; self.ranks.count()];
        for (physical, cut) in self.cuts().into_iter().enumerate() {
            if let Some(expert) = self.expert(physical) {
                let parts = u128::from(cut.end - cut.start) * u128::from(loads[expert.id()]);
                of_ranks[physical / self.local_experts()] += parts;
            }
        }
        of_ranks
    }

    fn check_loads(&self, loads: &[u64]) -> Result<(), PlacementError> {
        match loads.len() == self.experts() {
            true => Ok(()),
            false => Err(PlacementError::Loads { loads: loads.len(), experts: self.experts() }),
        }
    }
}

impl Draft<'_> {
    /// The expert of each place: from this draft, or from a better placement if there are few enough experts to try all
    /// placements.
    fn finished(self, change: Option<Change<'_>>) -> Vec<Option<usize>> {
        let ranks = self.of_rank.len();
        if self.loads.len() > exact::EXPERTS || ranks > exact::RANKS {
            return self.of;
        }
        exact::best(ranks, self.loads, self.local, change, fullest_load(&self.of_rank)).unwrap_or(self.of)
    }
}

#[cfg(test)]
mod replay;
#[cfg(test)]
mod tests;
