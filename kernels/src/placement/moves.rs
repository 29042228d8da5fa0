//! What a new placement copies.

use super::{LogicalExpert, Placement, PlacementError, Places};

/// The weights of a logical expert, to be copied from one physical expert of the old placement to one of the new placement.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Move {
    /// Whose weights they are.
    pub expert: LogicalExpert,
    /// The physical expert that has them, before any copy.
    pub from: usize,
    /// The physical expert that gets them.
    pub to: usize,
}

impl Placement {
    /// The copies that turn the old placement's weights into this one's, by ascending destination. Each takes its source from the old
    /// placement, on the same rank if it has one there: copy to new memory, or in an order in which no source is overwritten before its last
    /// use. Places that become empty need no copy.
    ///
    /// ```
    /// use hpmoe_kernels::{LogicalExpert, Move, Placement, Ranks};
    ///
    /// let old = Placement::even(Ranks::new(2), 4, 1)?;
    /// let new = Placement::new(Ranks::new(2), 4, &[Some(0), Some(1), Some(3), Some(2), Some(3), None])?;
    /// assert_eq!(new.moves(&old)?, [Move { expert: LogicalExpert::new(3), from: 4, to: 2 }]);
    /// # Ok::<(), hpmoe_kernels::PlacementError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the old placement is for another number of ranks, experts or places of a rank.
    pub fn moves(&self, old: &Self) -> Result<Vec<Move>, PlacementError> {
        let (new, old) = (&self.places, &old.places);
        for (what, one, other) in [
            ("ranks", new.ranks(), old.ranks()),
            ("experts", new.experts(), old.experts()),
            ("places of a rank", new.local, old.local),
        ] {
            if one != other {
                return Err(PlacementError::Apart { what, one, other });
            }
        }
        let copies = old.copies();
        let to = |to: usize| {
            let expert = new.expert(to)?;
            let of_expert = &copies[expert.id()];
            let here = of_expert.iter().find(|from| **from / old.local == to / new.local);
            (here != Some(&to)).then(|| Move { expert, from: *here.unwrap_or(&of_expert[0]), to })
        };
        Ok((0..new.count()).filter_map(to).collect())
    }
}

impl Places {
    /// By logical expert: the physical ones that hold it, ascending.
    pub(super) fn copies(&self) -> Vec<Vec<usize>> {
        let mut copies = vec![Vec::new(); self.experts];
        for (physical, place) in self.of.iter().enumerate() {
            if let Some(expert) = place.expert {
                copies[expert.id()].push(physical);
            }
        }
        copies
    }
}
