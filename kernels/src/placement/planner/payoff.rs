//! Estimates whether a new placement saves more time than its copies cost.

use super::time::{PlacementCosts, Work, slowest};
use crate::placement::{Placement, PlacementError};

/// The times of a number of launches with an old and with a new placement, and the time of the copies that the change needs,
/// in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Payoff {
    /// Time of the slowest rank with the old placement, in all launches together.
    pub before_ns: u64,
    /// Time of the slowest rank with the new placement, in all launches together.
    pub after_ns: u64,
    /// Time of the copies of weights on the rank that receives or sends most of them.
    pub copies_ns: u64,
}

impl Payoff {
    /// Whether the new placement saves more time in the launches than the copies take.
    #[must_use]
    pub const fn pays(&self) -> bool {
        self.before_ns.saturating_sub(self.after_ns) > self.copies_ns
    }
}

impl Placement {
    /// Whether changing from placement `old` to this one saves more time in the next `launches` launches than the copies of
    /// weights take. [`payoff`](Self::payoff) returns the times and describes the arguments.
    ///
    /// ```
    /// use hpmoe_kernels::{Placement, PlacementCosts, Ranks};
    ///
    /// let old = Placement::even(Ranks::new(2), 4, 0)?;
    /// // The rows of each expert in 50 launches.
    /// let loads = [500_000, 300_000, 100_000, 100_000];
    /// let new = old.rebalanced(&loads, 2)?;
    /// let costs = PlacementCosts { row_ns: 300, read_ns: 61_000, copy_ns: 450_000 };
    /// // Each rank sends one expert, in 0.45 ms. The fullest rank has 200,000 rows fewer, which saves 60 ms.
    /// assert!(new.pays(&old, &loads, 50, &costs)?);
    /// # Ok::<(), hpmoe_kernels::PlacementError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the old placement has another number of ranks, experts or places per rank, or the number of loads is not the
    /// number of experts.
    pub fn pays(
        &self,
        old: &Self,
        loads: &[u64],
        launches: u64,
        costs: &PlacementCosts,
    ) -> Result<bool, PlacementError> {
        Ok(self.payoff(old, loads, launches, costs)?.pays())
    }

    /// The times of the old placement `old`, of this placement, and of the copies of weights between them. `loads` has the
    /// number of rows of each logical expert in the next `launches` launches together.
    ///
    /// The time of a rank is the time for its rows or the time for reading weights, whichever is longer. A launch reads the
    /// weights of a physical expert only if the expert has rows. The reads of an expert are therefore at most the number
    /// of launches, and at most the number of the expert's rows.
    ///
    /// # Errors
    ///
    /// If the old placement has another number of ranks, experts or places per rank, or the number of loads is not the
    /// number of experts.
    pub fn payoff(
        &self,
        old: &Self,
        loads: &[u64],
        launches: u64,
        costs: &PlacementCosts,
    ) -> Result<Payoff, PlacementError> {
        let moves = self.moves(old)?;
        self.check_loads(loads)?;
        let (mut received, mut sent) = (vec![0_u64; self.ranks().count()], vec![0_u64; self.ranks().count()]);
        for copy in &moves {
            received[copy.to / self.local_experts()] += 1;
            sent[copy.from / self.local_experts()] += 1;
        }
        let copies = received.into_iter().chain(sent).max().unwrap_or_default();
        let time = |placement: &Self| slowest(&placement.work(loads, launches), costs);
        Ok(Payoff { before_ns: time(old), after_ns: time(self), copies_ns: copies.saturating_mul(costs.copy_ns) })
    }

    /// The work of each rank, from its experts' rows in all launches.
    fn work(&self, loads: &[u64], launches: u64) -> Vec<Work> {
        let mut of_rank = vec![Work::default(); self.ranks().count()];
        for (physical, cut) in self.cuts().into_iter().enumerate() {
            if let Some(expert) = self.expert(physical) {
                of_rank[physical / self.local_experts()].add(loads[expert.id()], cut.end - cut.start, launches);
            }
        }
        of_rank
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ranks;

    const COSTS: PlacementCosts = PlacementCosts { row_ns: 10, read_ns: 0, copy_ns: 1000 };

    #[test]
    fn a_placement_pays_if_it_saves_more_than_its_copies_take() {
        let ep = Ranks::new(2);
        let old = Placement::new(ep, 3, &[Some(0), Some(1), Some(2), None]).unwrap();
        let new = Placement::new(ep, 3, &[Some(0), None, Some(2), Some(1)]).unwrap();
        let payoff = |loads: &[u64]| new.payoff(&old, loads, 1, &COSTS).unwrap();
        assert_eq!(payoff(&[200, 100, 50]), Payoff { before_ns: 3000, after_ns: 2000, copies_ns: 1000 });
        assert!(!payoff(&[200, 100, 50]).pays());
        assert!(payoff(&[200, 101, 50]).pays());
        assert!(new.pays(&old, &[200, 101, 50], 1, &COSTS).unwrap());
        // Worse for these loads, and the same as before.
        assert!(!payoff(&[0, 100, 50]).pays());
        assert!(!old.pays(&old, &[9, 9, 9], 1, &COSTS).unwrap());
        assert!(new.pays(&old, &[1; 2], 1, &COSTS).is_err());
        assert!(new.pays(&Placement::even(ep, 3, 1).unwrap(), &[1; 3], 1, &COSTS).is_err());
    }

    #[test]
    fn copies_take_the_time_of_the_rank_with_most_of_them() {
        let ep = Ranks::new(3);
        let old = Placement::new(ep, 3, &[Some(0), None, Some(1), None, Some(2), None]).unwrap();
        let of = |places: &[Option<usize>]| {
            let new = Placement::new(ep, 3, places).unwrap();
            new.payoff(&old, &[1; 3], 1, &COSTS).unwrap().copies_ns
        };
        // One for each rank, each from another one; two from rank 0; one to rank 1 from rank 0.
        assert_eq!(of(&[Some(0), Some(1), Some(1), Some(2), Some(2), Some(0)]), 1000);
        assert_eq!(of(&[Some(0), None, Some(1), Some(0), Some(2), Some(0)]), 2000);
        assert_eq!(of(&[Some(0), None, Some(1), Some(0), Some(2), None]), 1000);
        // Two to rank 0, each from another one.
        let old =
            Placement::new(ep, 3, &[0, 3, 3, 1, 3, 3, 2, 3, 3].map(|expert| (expert < 3).then_some(expert))).unwrap();
        let new =
            Placement::new(ep, 3, &[0, 1, 2, 1, 3, 3, 2, 3, 3].map(|expert| (expert < 3).then_some(expert))).unwrap();
        assert_eq!(new.payoff(&old, &[1; 3], 1, &COSTS).unwrap().copies_ns, 2000);
    }

    #[test]
    fn weights_are_read_once_in_a_launch_with_rows() {
        let ep = Ranks::new(2);
        let alone = Placement::new(ep, 2, &[Some(0), None, Some(1), None]).unwrap();
        let both = Placement::new(ep, 2, &[Some(0), None, Some(1), Some(0)]).unwrap();
        let costs = PlacementCosts { row_ns: 10, read_ns: 1000, copy_ns: 0 };
        let times = |loads: &[u64], launches: u64| {
            let payoff = both.payoff(&alone, loads, launches, &costs).unwrap();
            (payoff.before_ns, payoff.after_ns)
        };
        // Few rows: the copy is read as well. Many rows: it takes half of them.
        assert_eq!(times(&[20, 10], 1), (1000, 2000));
        assert_eq!(times(&[2000, 10], 1), (20_000, 10_100));
        // Four rows in ten launches: at most four reads.
        assert_eq!(times(&[4, 0], 10), (4000, 2000));
        assert_eq!(times(&[0, 0], 10), (0, 0));
        assert_eq!(times(&[u64::MAX, 0], u64::MAX).0, u64::MAX);
    }
}
