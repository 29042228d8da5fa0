//! The copies of weights that a new placement needs.

use super::{LogicalExpert, Placement, PlacementError, Places};

/// A copy of a logical expert's weights from a physical expert of the old placement to one of the new placement.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Move {
    /// The expert whose weights are copied.
    pub expert: LogicalExpert,
    /// The physical expert to copy from, in the old placement.
    pub from: usize,
    /// The physical expert to copy to, in the new placement.
    pub to: usize,
}

impl Placement {
    /// The copies that turn `old`'s weights into this placement's, ordered by destination. Each copy reads its source
    /// as the old placement had it, from the same rank if possible. So copy to new memory, or order the copies so that
    /// no source is overwritten before its last use. Places that become empty need no copy.
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
    /// If the old placement has another number of ranks, experts or places per rank.
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
    /// For each logical expert, the physical experts that hold it, in ascending order.
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
